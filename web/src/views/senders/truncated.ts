// Detects the server's truncation mark.
const MARK = /… \[[\d,]+ more characters?\]$/;

export function isTruncated(text: string): boolean {
  return MARK.test(text);
}

// How the server marks a text that it has cut.
const MARK = /… \[[\d,]+ more characters?\]$/;

export function isCut(text: string): boolean {
  return MARK.test(text);
}

// Renders server text with names in backticks as code.
import { showBidiControls } from "./bidi";

export function CodeText({ words }: { words: string }) {
  return (
    <>
      {showBidiControls(words)
        .split("`")
        .map((part, at, parts) =>
          at % 2 === 1 && at < parts.length - 1 ? (
            <code key={at} class="wrap">
              {part}
            </code>
          ) : at % 2 === 1 ? (
            `\`${part}`
          ) : (
            part
          ),
        )}
    </>
  );
}

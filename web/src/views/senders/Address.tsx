// A sender's address, with line breaks allowed only at its separators.
import { Fragment } from "preact";
import { showBidiControls } from "../../parts/bidi";

export function Address({ of }: { of: string }) {
  return (
    <>
      {showBidiControls(of)
        .split(/(?<=[@.])/)
        .map((piece, at) => (
          <Fragment key={at}>
            {at > 0 && <wbr />}
            {piece}
          </Fragment>
        ))}
    </>
  );
}

// The address of a sender, which breaks where addresses have a joint and not in the middle of a name.
import { Fragment } from "preact";
import { visible } from "../../parts/visible";

export function Address({ of }: { of: string }) {
  return <>{visible(of).split(/(?<=[@.])/).map((piece, at) => <Fragment key={at}>{at > 0 && <wbr />}{piece}</Fragment>)}</>;
}

// Renders its children again only if one of its inputs changed, so that streaming does not render a long conversation
// for every word.
import { Component, type ComponentChildren } from "preact";

export class Memo extends Component<{ as: readonly unknown[]; show: () => ComponentChildren }> {
  override shouldComponentUpdate(next: { as: readonly unknown[] }): boolean {
    return next.as.length !== this.props.as.length || next.as.some((one, at) => one !== this.props.as[at]);
  }

  override render() {
    return this.props.show();
  }
}

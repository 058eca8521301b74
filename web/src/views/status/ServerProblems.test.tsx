import { type ComponentChildren, isValidElement, type VNode } from "preact";
import { describe, expect, it } from "vitest";
import { ServerProblems } from "./ServerProblems";
import { problemsOf, type StatusReport } from "./server_status";

/** The text of an element, with its function components rendered. */
function textOf(node: ComponentChildren): string {
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (!isValidElement(node)) return typeof node === "string" || typeof node === "number" ? String(node) : "";
  const { type, props } = node as VNode<{ children?: ComponentChildren }>;
  if (typeof type === "function") return textOf((type as (props: object) => ComponentChildren)(props));
  return textOf(props.children);
}

const problem = {
  code: "config_missing",
  message: "the file `foreword.yaml` is missing",
  help: "restore it or restart the server",
};

describe("server problems", () => {
  it("show the message and the advice as sentences", () => {
    const text = textOf(<ServerProblems problems={[problem]} />);
    expect(text).toContain("The file foreword.yaml is missing.");
    expect(text).toContain("Restore it or restart the server.");
  });

  it("are all listed", () => {
    const readOnly = { code: "store_read_only", message: "the store is read-only" };
    const text = textOf(<ServerProblems problems={[problem, readOnly]} />);
    expect(text).toContain("The server has problems.");
    expect(text).toContain("The store is read-only.");
  });

  it("render nothing if there are none", () => {
    expect(ServerProblems({ problems: [] })).toBeNull();
  });

  it("come from the server part of the status", () => {
    expect(problemsOf({ server: { problems: [problem] } } as unknown as StatusReport)).toEqual([problem]);
    expect(problemsOf({} as StatusReport)).toEqual([]);
  });
});

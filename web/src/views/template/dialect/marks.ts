// A piece of a template that is more than text, and what it is.
export type MarkKind = "variable" | "condition" | "literal" | "comment" | "bracket" | "word" | "name" | "string";

export interface Mark {
  from: number;
  to: number;
  kind: MarkKind;
}

// A token of a template.
export type SyntaxKind = "variable" | "condition" | "literal" | "comment" | "bracket" | "word" | "name" | "string";

export interface SyntaxToken {
  from: number;
  to: number;
  kind: SyntaxKind;
}

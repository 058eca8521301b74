// What is wrong with the template, or probably not meant: each line leads to its place.
import type { Asking } from "../../api/asking";
import type { Refusal } from "../../api/client";
import type { CheckedTemplate } from "../../api/schema";
import { many } from "../../parts/figures";
import { Ticked } from "../../parts/ticked";
import { sentence } from "../../parts/told";
import type { Found } from "./places";

export interface ProblemsProps {
  found: Found[];
  checking: Asking<CheckedTemplate>;
  /** Why the preview can't be shown: a template without problems of its own can still fail when it is rendered. */
  preview: Refusal | undefined;
  jump: (found: Found) => void;
}

export function Problems({ found, checking, preview, jump }: ProblemsProps) {
  // Quietly: the preview says the same aloud.
  if (checking.refusal) return <p class="quiet" role="status">Not looked for problems. {sentence(checking.refusal.message)} <button class="plain" onClick={checking.again}>Look again</button></p>;
  return (
    <section class="problems" aria-label="Problems">
      <p class="quiet" role="status">{summary(found, checking.value === undefined, preview)}</p>
      {found.length > 0 && (
        <ul>
          {found.map((one, at) => (
            <li key={at} class={one.severity}>
              <button class="plain" onClick={() => jump(one)} title="Go to this place">
                <span class={`mark ${one.severity === "error" ? "bad" : "waiting"}`}>{one.severity === "error" ? "✕ problem" : "! warning"}</span>{" "}
                <span class="where">line {one.line}, column {one.column}</span>
              </button>
              <span class="wrap"><Ticked words={one.what} />{one.help && <span class="quiet"> — <Ticked words={one.help} /></span>}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function summary(found: Found[], first: boolean, preview: Refusal | undefined): string {
  if (first) return "Looking for problems …";
  if (found.length === 0 && preview) return `The text parses, but the preview fails: ${sentence(preview.message)}`;
  const problems = found.filter((one) => one.severity === "error").length;
  const warnings = found.length - problems;
  if (problems === 0 && warnings === 0) return "✓ No problems.";
  const words = [problems > 0 && many(problems, "problem"), warnings > 0 && many(warnings, "warning")].filter(Boolean);
  return `${words.join(" and ")}. F8 in the editor goes from one to the next.`;
}

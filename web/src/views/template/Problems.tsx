// The errors and warnings of the template, each linked to its position.

import type { ApiError } from "../../api/client";
import type { Query } from "../../api/query";
import type { CheckedTemplate } from "../../api/schema";
import { CodeText } from "../../parts/code_text";
import { plural } from "../../parts/format";
import { sentence } from "../../parts/states";
import type { TemplateProblem } from "./positions";

export interface ProblemsProps {
  found: TemplateProblem[];
  checking: Query<CheckedTemplate>;
  /** Why rendering failed: a valid template can still fail when it is rendered. */
  preview: ApiError | undefined;
  jump: (found: TemplateProblem) => void;
}

export function Problems({ found, checking, preview, jump }: ProblemsProps) {
  // Not announced: the preview announces the same.
  if (checking.error)
    return (
      <p class="quiet" role="status">
        The check failed. {sentence(checking.error.message)}{" "}
        <button type="button" class="plain" onClick={checking.reload}>
          Check again
        </button>
      </p>
    );
  return (
    <section class="problems" aria-label="Problems">
      <p class="quiet" role="status">
        {summary(found, checking.value === undefined, preview)}
      </p>
      {found.length > 0 && (
        <ul>
          {found.map((one, at) => (
            <li key={at} class={one.severity}>
              <button type="button" class="plain" onClick={() => jump(one)} title="Go to this position">
                <span class={`badge ${one.severity === "error" ? "bad" : "waiting"}`}>
                  {one.severity === "error" ? "✕ problem" : "! warning"}
                </span>{" "}
                <span class="where">
                  line {one.line}, column {one.column}
                </span>
              </button>
              <span class="wrap">
                <CodeText words={one.what} />
                {one.help && (
                  <span class="quiet">
                    {" "}
                    — <CodeText words={one.help} />
                  </span>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function summary(found: TemplateProblem[], first: boolean, preview: ApiError | undefined): string {
  if (first) return "Checking …";
  if (found.length === 0 && preview) return `The text parses, but the preview fails: ${sentence(preview.message)}`;
  const problems = found.filter((one) => one.severity === "error").length;
  const warnings = found.length - problems;
  if (problems === 0 && warnings === 0) return "✓ No problems.";
  const words = [problems > 0 && plural(problems, "problem"), warnings > 0 && plural(warnings, "warning")].filter(
    Boolean,
  );
  return `${words.join(" and ")}. F8 in the editor jumps to the next one.`;
}

// Prompt sources that cannot be read or rendered, and what prompts contain instead.
import type { FailingSource } from "../../api/schema";
import { CodeText } from "../../parts/code_text";

const REPLACEMENTS: Record<string, string> = {
  last_good: "New prompts use its last good version.",
  skipped: "New prompts leave it out.",
  nothing: "No new conversation can start. Running ones keep their prompt.",
};

export function Sources({ sources }: { sources: FailingSource[] }) {
  return (
    <ul class="errors card">
      {sources.map((failing) => (
        <li key={failing.source}>
          <p class="row">
            <span class={`badge ${failing.replacement === "nothing" ? "bad" : "waiting"}`}>
              <span aria-hidden="true">{failing.replacement === "nothing" ? "✕" : "!"}</span> {failing.source}
            </span>{" "}
            <span class="quiet">layer {failing.layer}</span>
          </p>
          <p class="wrap">
            <CodeText words={failing.error} />
            {failing.help && (
              <span class="quiet">
                {" "}
                — <CodeText words={failing.help} />
              </span>
            )}
          </p>
          <p class="quiet">{REPLACEMENTS[failing.replacement] ?? failing.replacement}</p>
        </li>
      ))}
    </ul>
  );
}

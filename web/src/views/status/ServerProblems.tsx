// Problems of the server's configuration, workspace and store, such as a missing configuration file or a read-only store.
import type { ServerProblem } from "../../api/schema";
import { CodeText } from "../../parts/code_text";
import { sentence } from "../../parts/states";

export function ServerProblems({ problems }: { problems: ServerProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <section class="callout bad" role="alert" aria-label="Server problems">
      <p>
        <strong>{problems.length === 1 ? "The server has a problem." : "The server has problems."}</strong>
      </p>
      <ul>
        {problems.map((problem) => (
          <li key={problem.code} class="wrap">
            <CodeText words={sentence(problem.message)} />
            {problem.help && (
              <>
                {" "}
                <CodeText words={sentence(problem.help)} />
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

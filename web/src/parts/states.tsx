// The loading, empty and error states of a view.
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import type { Query } from "../api/query";
import { CodeText } from "./code_text";

export function Loading({ what }: { what?: string }) {
  return (
    <p class="busy" role="status">
      <span class="spinner" aria-hidden="true" /> {what ? `${what} …` : "One moment …"}
    </p>
  );
}

/** An error: what happened, what to try, and a retry button. */
export function ErrorNotice({ error, reload }: { error: ApiError; reload?: () => void }) {
  return (
    <div class="callout bad" role="alert">
      <p>
        <strong>
          <CodeText words={sentence(error.message)} />
        </strong>
      </p>
      {error.help && (
        <p>
          <CodeText words={sentence(error.help)} />
        </p>
      )}
      {error.problems.length > 0 && (
        <ul>
          {error.problems.map((problem, at) => (
            <li key={at}>
              {problem.line ? `line ${problem.line}: ` : ""}
              <CodeText words={problem.help ? `${problem.message} — ${problem.help}` : problem.message} />
            </li>
          ))}
        </ul>
      )}
      {reload && (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Makes a sentence of a server message: an initial capital and a full stop. */
export function sentence(words: string): string {
  const begun = words.startsWith("`") ? words : words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** An empty list, with a hint how to fill it. */
export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}

/** Shows the result of a query, its loading state or its error. An old result stays visible while a new one loads. */
export function QueryResult<T>({
  query,
  what,
  children,
}: {
  query: Query<T>;
  what?: string;
  children: (value: T) => ComponentChildren;
}) {
  if (query.value === undefined && query.error) return <ErrorNotice error={query.error} reload={query.reload} />;
  if (query.value === undefined) return <Loading what={what} />;
  return (
    <>
      {query.error && <ErrorNotice error={query.error} reload={query.reload} />}
      {children(query.value)}
    </>
  );
}

// Asks the owner to approve a tool call that may be harmful, because the agent has read untrusted text.
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { ErrorNotice } from "../states";
import type { Question as QuestionData } from "./reducer";

const ANSWERS = [
  { answer: "once", words: "Allow once" },
  { answer: "rest_of_turn", words: "Allow for the rest of this turn" },
  { answer: "no", words: "No" },
] as const;

export function Question({
  question,
  owner,
  reply,
}: {
  question: QuestionData;
  owner: boolean;
  reply: (answer: string) => Promise<unknown>;
}) {
  const [sent, setSent] = useState<string>();
  const [error, setError] = useState<ApiError>();
  const answerWith = (answer: string) => {
    setSent(answer);
    setError(undefined);
    reply(answer).catch((error: unknown) => {
      setError(ApiError.of(error));
      setSent(undefined);
    });
  };
  return (
    <section class="callout waiting question" aria-label="The agent asks" role="alert">
      <p>
        <strong>
          The agent wants to run <code>{question.tool}</code>.
        </strong>
      </p>
      <pre>{JSON.stringify(question.arguments, null, 2)}</pre>
      <p>Approval is required because {question.because}, which may have influenced it.</p>
      {owner ? (
        <div class="row">
          {ANSWERS.map(({ answer, words }) => (
            <button type="button" key={answer} disabled={sent !== undefined} onClick={() => answerWith(answer)}>
              {sent === answer ? "One moment …" : words}
            </button>
          ))}
        </div>
      ) : (
        <p class="quiet">Only the owner can approve this.</p>
      )}
      {error && <ErrorNotice error={error} />}
    </section>
  );
}

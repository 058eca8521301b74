// The agent wants to do something that could do harm, after it has read words from outside. The owner decides.
import { useState } from "preact/hooks";
import { Refusal } from "../../api/client";
import { Told } from "../told";
import type { Question as Asked } from "./fold";

const ANSWERS = [
  { answer: "once", words: "Allow once" },
  { answer: "rest_of_turn", words: "Allow for the rest of this turn" },
  { answer: "no", words: "No" },
] as const;

export function Question({ question, owner, reply }: { question: Asked; owner: boolean; reply: (answer: string) => Promise<unknown> }) {
  const [sent, setSent] = useState<string>();
  const [refusal, setRefusal] = useState<Refusal>();
  const say = (answer: string) => {
    setSent(answer);
    setRefusal(undefined);
    reply(answer).catch((error: unknown) => {
      setRefusal(Refusal.of(error));
      setSent(undefined);
    });
  };
  return (
    <section class="told waiting question" aria-label="The agent asks" role="alert">
      <p><strong>The agent wants to run <code>{question.tool}</code>.</strong></p>
      <pre>{JSON.stringify(question.arguments, null, 2)}</pre>
      <p>It asks because {question.because}, which may be why it wants to.</p>
      {owner ? (
        <div class="row">
          {ANSWERS.map(({ answer, words }) => <button key={answer} disabled={sent !== undefined} onClick={() => say(answer)}>{sent === answer ? "One moment …" : words}</button>)}
        </div>
      ) : <p class="quiet">Only the owner can answer this.</p>}
      {refusal && <Told refusal={refusal} />}
    </section>
  );
}

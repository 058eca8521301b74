// What was said and what is being said, from top to bottom.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { useOccasions } from "../../parts/occasion";
import { Said, Summary } from "../../parts/talk/Said";
import { useTurnCosts } from "../../parts/talk/turns";
import { Busy, Empty, Told } from "../../parts/told";
import { toastRefusal } from "../../parts/toast";
import { useSession } from "../../shell/session";
import { NoConversation } from "../../parts/conversation/NoConversation";
import { Answer } from "../../parts/talk/Answer";
import { useInterrupted } from "./interrupted";
import { Letters } from "./Letters";
import { Log } from "./Log";
import type { Letter } from "./outbox";
import { Same } from "../../parts/talk/Same";
import { timeline } from "../../parts/talk/timeline";
import type { Talking } from "./useTalk";

export function Conversation({ conversation, talking, agent, letters, begin }: { conversation: string | undefined; talking: Talking; agent: string; letters: Letter[]; begin: ComponentChildren }) {
  const session = useSession();
  const { value: known } = useOccasions();
  const costs = useTurnCosts(conversation);
  const { talk, refusal, line } = talking;
  const interrupted = useInterrupted(line, talk.last);
  const entries = useMemo(() => timeline(talk), [talk]);
  const reply = (callId: string, answer: string) => talking.ask({ type: "answer", callId, answer });
  const earlier = () => talking.earlier().catch(toastRefusal);
  const people = new Set([session.user, ...(known?.users ?? []).map((user) => user.name)]);
  return (
    <Log of={conversation ?? ""} version={[talk, letters]} earlier={talk.earlier === null ? undefined : earlier}>
      {!conversation && letters.length === 0 && begin}
      {conversation && refusal && !talk.loaded && (refusal.status === 404 ? <NoConversation id={conversation} chat /> : <Told refusal={refusal} again={talking.again} />)}
      {conversation && !talk.loaded && !refusal && <Busy what="Reading the conversation" />}
      {conversation && talk.loaded && entries.length === 0 && letters.length === 0 && <Empty title="Nothing was said yet"><p>Write below to begin.</p></Empty>}
      {entries.map((entry) => {
        if (entry.kind === "summary") return <Same key={entry.key} as={[entry.message]} show={() => <Summary message={entry.message} />} />;
        if (entry.kind === "said") {
          const stranger = session.owner && known !== undefined && entry.message.author !== null && !people.has(entry.message.author ?? "");
          return <Same key={entry.key} as={[entry.message, stranger]} show={() => <Said message={entry.message} self={session.user} stranger={stranger} />} />;
        }
        const cost = entry.turn ? costs.get(entry.turn) : undefined;
        const as = [entry.live ?? entry.turn, entry.parts.length, entry.notices.length, entry.at, cost, agent, interrupted];
        return <Same key={entry.key} as={as} show={() => <Answer entry={entry} conversation={conversation} agent={agent} owner={session.owner} cost={cost} interrupted={interrupted} reply={reply} />} />;
      })}
      <Letters letters={letters} offline={line === "lost"} post={talking.post} />
    </Log>
  );
}

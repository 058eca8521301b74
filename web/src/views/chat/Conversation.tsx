// The messages of a conversation, including the running turn.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { ConversationNotFound } from "../../parts/conversation/ConversationNotFound";
import { Answer } from "../../parts/messages/Answer";
import { Memo } from "../../parts/messages/Memo";
import { Message, Summary } from "../../parts/messages/Message";
import { timeline } from "../../parts/messages/timeline";
import { useTurnCosts } from "../../parts/messages/turn_costs";
import { useOccasions } from "../../parts/occasion";
import { EmptyState, ErrorNotice, Loading } from "../../parts/states";
import { toastError } from "../../parts/toast";
import { useSession } from "../../shell/session";
import { useInterrupted } from "./interrupted";
import { Log } from "./Log";
import type { OutgoingMessage } from "./outbox";
import { PendingMessages } from "./PendingMessages";
import type { LiveConversation } from "./useLiveConversation";

export function Conversation({
  conversation,
  live,
  agent,
  pending,
  begin,
}: {
  conversation: string | undefined;
  live: LiveConversation;
  agent: string;
  pending: OutgoingMessage[];
  begin: ComponentChildren;
}) {
  const session = useSession();
  const { value: known } = useOccasions();
  const costs = useTurnCosts(conversation);
  const { state, error, connection } = live;
  const interrupted = useInterrupted(connection, state.last);
  const entries = useMemo(() => timeline(state), [state]);
  const reply = (callId: string, answer: string) => live.ask({ type: "answer", callId, answer });
  const earlier = () => live.earlier().catch(toastError);
  const people = new Set([session.user, ...(known?.users ?? []).map((user) => user.name)]);
  return (
    <Log of={conversation ?? ""} version={[state, pending]} earlier={state.earlier === null ? undefined : earlier}>
      {!conversation && pending.length === 0 && begin}
      {conversation &&
        error &&
        !state.loaded &&
        (error.status === 404 ? (
          <ConversationNotFound id={conversation} chat />
        ) : (
          <ErrorNotice error={error} reload={live.reload} />
        ))}
      {conversation && !state.loaded && !error && <Loading what="Loading the conversation" />}
      {conversation && state.loaded && entries.length === 0 && pending.length === 0 && (
        <EmptyState title="No messages yet">
          <p>Write a message to start.</p>
        </EmptyState>
      )}
      {entries.map((entry) => {
        if (entry.kind === "summary")
          return <Memo key={entry.key} as={[entry.message]} show={() => <Summary message={entry.message} />} />;
        if (entry.kind === "message") {
          const untrusted =
            session.owner &&
            known !== undefined &&
            entry.message.author !== null &&
            !people.has(entry.message.author ?? "");
          return (
            <Memo
              key={entry.key}
              as={[entry.message, untrusted]}
              show={() => <Message message={entry.message} self={session.user} untrusted={untrusted} />}
            />
          );
        }
        const cost = entry.turn ? costs.get(entry.turn) : undefined;
        const as = [
          entry.live ?? entry.turn,
          entry.parts.length,
          entry.notices.length,
          entry.at,
          cost,
          agent,
          interrupted,
        ];
        return (
          <Memo
            key={entry.key}
            as={as}
            show={() => (
              <Answer
                entry={entry}
                conversation={conversation}
                agent={agent}
                owner={session.owner}
                cost={cost}
                interrupted={interrupted}
                reply={reply}
              />
            )}
          />
        );
      })}
      <PendingMessages pending={pending} offline={connection === "lost"} flush={live.flush} />
    </Log>
  );
}

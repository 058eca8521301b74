// The chat view: the streamed conversation and the composer.
import { useState } from "preact/hooks";
import { useQuery } from "../../api/query";
import { readConversation } from "../../parts/messages/history";
import { runningTurn } from "../../parts/messages/reducer";
import { type Occasion, occasionIn, occasionQuery, useOccasions } from "../../parts/occasion";
import type { ViewProps } from "../../shell/App";
import { href, navigate } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Announcer } from "./Announcer";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { Head } from "./Head";
import { NewConversation } from "./NewConversation";
import { useOutbox } from "./outbox";
import { Recent } from "./Recent";
import { SpeakerChoice } from "./SpeakerChoice";
import { useStop } from "./stop";
import { useMessageSender } from "./useMessageSender";
import "./chat.css";

export function ChatView({ route }: ViewProps) {
  const session = useSession();
  const conversation = route.rest[0];
  const mayChat = session.scopes.includes("chat");
  const { value: known } = useOccasions();
  const occasion = occasionIn(route.query);
  const [round, setRound] = useState(0);
  const { live, send, speaker, speakAs } = useMessageSender({
    conversation,
    occasion,
    onChange: () => setRound((round) => round + 1),
  });
  const { state, connection, error } = live;
  const head = useQuery(conversation ? `${conversation} ${round}` : null, (signal) =>
    readConversation(conversation ?? "", signal),
  );
  const about = conversation && head.value?.id === conversation ? head.value : undefined;
  // The conversation does not exist or belongs to another user, so there is no composer.
  const missing = conversation !== undefined && !state.loaded && error?.status === 404;
  const pending = useOutbox(conversation);
  const runs = runningTurn(state);
  const stops = useStop(runs?.id, live.ask);
  const agent = about?.agent ?? occasion.agent ?? known?.agents[0]?.name ?? "The agent";
  const change = (occasion: Occasion) => navigate(href("chat", [], occasionQuery(occasion)), "replace");
  return (
    <div class="chat">
      <div class="chat-main">
        <Head conversation={conversation} about={about} missing={missing} mayChat={mayChat} state={state} />
        <Conversation
          conversation={conversation}
          live={live}
          agent={agent}
          pending={pending}
          begin={<NewConversation occasion={occasion} change={change} />}
        />
        <Announcer key={conversation ?? "new"} state={state} agent={agent} />
        {!missing && (
          <Composer
            draftKey={conversation ?? "new"}
            send={send}
            runningTurn={runs !== undefined}
            stop={stops.stop}
            stopping={stops.stopping}
            disabled={!mayChat}
          >
            {!mayChat && (
              <p class="callout waiting">
                Your token is read-only: it lacks the scope <code>chat</code>.
              </p>
            )}
            {mayChat && connection === "lost" && (
              <p class="lost" role="status">
                <span class="spinner" aria-hidden="true" /> Connection lost. Trying again …
              </p>
            )}
            {about && mayChat && <SpeakerChoice conversation={about} user={speaker ?? session.user} choose={speakAs} />}
          </Composer>
        )}
      </div>
      <Recent current={conversation} round={round} />
    </div>
  );
}

// Talking to the agent: the conversation as it is streamed, and where to write.
import { useState } from "preact/hooks";
import { useAsking } from "../../api/asking";
import { type Occasion, occasionIn, occasionQuery, useOccasions } from "../../parts/occasion";
import type { ViewProps } from "../../shell/App";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Announcer } from "./Announcer";
import { Begin } from "./Begin";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { running } from "../../parts/talk/fold";
import { Head } from "./Head";
import { readConversation } from "../../parts/talk/history";
import { useOutbox } from "./outbox";
import { Recent } from "./Recent";
import { useSaying } from "./saying";
import { Speaking } from "./Speaking";
import { useStop } from "./stop";
import "./chat.css";

export function ChatView({ place }: ViewProps) {
  const session = useSession();
  const conversation = place.rest[0];
  const mayChat = session.scopes.includes("chat");
  const { value: known } = useOccasions();
  const occasion = occasionIn(place.query);
  const [round, setRound] = useState(0);
  const { talking, say, speaker, speakAs } = useSaying({ conversation, occasion, said: () => setRound((round) => round + 1) });
  const { talk, line, refusal } = talking;
  const head = useAsking(conversation ? `${conversation} ${round}` : null, (signal) => readConversation(conversation ?? "", signal));
  const about = conversation && head.value?.id === conversation ? head.value : undefined;
  // Not there, or somebody else's: there is nothing to say into.
  const missing = conversation !== undefined && !talk.loaded && refusal?.status === 404;
  const letters = useOutbox(conversation);
  const runs = running(talk);
  const stops = useStop(runs?.id, talking.ask);
  const agent = about?.agent ?? occasion.agent ?? known?.agents[0]?.name ?? "The agent";
  const change = (occasion: Occasion) => go(href("chat", [], occasionQuery(occasion)), "replace");
  return (
    <div class="chat">
      <div class="chat-main">
        <Head conversation={conversation} about={about} missing={missing} mayChat={mayChat} talk={talk} />
        <Conversation conversation={conversation} talking={talking} agent={agent} letters={letters} begin={<Begin occasion={occasion} change={change} />} />
        <Announcer key={conversation ?? "new"} talk={talk} agent={agent} />
        {!missing && <Composer place={conversation ?? "new"} send={say} running={runs !== undefined} stop={stops.stop} stopping={stops.stopping} disabled={!mayChat}>
          {!mayChat && <p class="told waiting">Your token may look, but not speak: it does not open <code>chat</code>.</p>}
          {mayChat && line === "lost" && <p class="lost" role="status"><span class="spinner" aria-hidden="true" /> Connection lost. Trying again …</p>}
          {about && mayChat && <Speaking conversation={about} user={speaker ?? session.user} choose={speakAs} />}
        </Composer>}
      </div>
      <Recent current={conversation} round={round} />
    </div>
  );
}

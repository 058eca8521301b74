// Talking to the agent: the conversation as it is streamed, and where to write.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsking } from "../../api/asking";
import { Refusal } from "../../api/client";
import { Name } from "../../parts/conversation/Name";
import { type Occasion, occasionIn, occasionQuery, useOccasions } from "../../parts/occasion";
import { toast } from "../../parts/toast";
import type { ViewProps } from "../../shell/App";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Announcer } from "./Announcer";
import { Begin } from "./Begin";
import { Compact } from "./Compact";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { running } from "./fold";
import { readConversation } from "./history";
import { fresh, outbox, useOutbox } from "./outbox";
import { Recent } from "./Recent";
import { Speaking } from "./Speaking";
import { rememberSpeaker, rememberedSpeaker } from "./speaker";
import { useTalk } from "./useTalk";
import "./chat.css";

export function ChatView({ place }: ViewProps) {
  const session = useSession();
  const conversation = place.rest[0];
  const mayChat = session.scopes.includes("chat");
  const here = useRef(conversation);
  here.current = conversation;
  const [round, setRound] = useState(0);
  const { value: known } = useOccasions();
  const occasion = occasionIn(place.query);
  const talking = useTalk(conversation, mayChat, (letter, id) => {
    rememberSpeaker(id, letter.speaker?.user);
    setRound((round) => round + 1);
    if (letter.begin && here.current === undefined) go(href("chat", [id]), "replace");
  });
  const head = useAsking(conversation ? `${conversation} ${round}` : null, (signal) => readConversation(conversation ?? "", signal));
  const about = conversation && head.value?.id === conversation ? head.value : undefined;
  const [speaker, setSpeaker] = useState<string>();
  useEffect(() => setSpeaker(conversation ? rememberedSpeaker(conversation) : undefined), [conversation]);
  // Not there, or somebody else's: there is nothing to say into.
  const missing = conversation !== undefined && !talking.talk.loaded && talking.refusal?.status === 404;
  const letters = useOutbox(conversation);
  const runs = running(talking.talk);
  const stops = useStop(runs?.id, talking.ask);
  const agent = about?.agent ?? occasion.agent ?? known?.agents[0]?.name ?? "The agent";
  const send = (text: string) => {
    const asserts = session.scopes.includes("assert");
    const user = conversation ? speaker : occasion.user === session.user ? undefined : occasion.user;
    const situation = conversation ? undefined : occasion.situation;
    const begin = conversation ? undefined : { agent: occasion.agent, id: asserts || session.owner ? fresh("c") : undefined };
    outbox.add({ key: fresh("page"), text, conversation, begin, speaker: asserts ? { user, situation } : undefined, author: (asserts && user) || session.user, at: new Date().toISOString() });
    talking.post();
  };
  const change = (occasion: Occasion) => go(href("chat", [], occasionQuery(occasion)), "replace");
  return (
    <div class="chat">
      <div class="chat-main">
        <div class="head">
          <h1 class="wrap">{conversation ? (about ? <Name of={about} whole /> : "Chat") : "Chat"}</h1>
          {conversation && !missing && (
            <div class="row tools">
              <a href={href("prompt", [], { conversation })}>Prompt</a>
              <a href={href("conversations", [conversation])}>All about it</a>
              {mayChat && <Compact conversation={conversation} disabled={runs !== undefined || !talking.talk.loaded} summaries={talking.talk.messages.filter((message) => message.kind === "summary").length} />}
              <a class="button" href={href("chat")}>New chat</a>
            </div>
          )}
        </div>
        <Conversation conversation={conversation} talking={talking} agent={agent} letters={letters} begin={<Begin occasion={occasion} change={change} />} />
        <Announcer key={conversation ?? "new"} talk={talking.talk} agent={agent} />
        {!missing && <Composer place={conversation ?? "new"} send={send} running={runs !== undefined} stop={stops.stop} stopping={stops.stopping} disabled={!mayChat}>
          {!mayChat && <p class="told waiting">Your token may look, but not speak: it does not open <code>chat</code>.</p>}
          {mayChat && talking.line === "lost" && <p class="lost" role="status"><span class="spinner" aria-hidden="true" /> Connection lost. Trying again …</p>}
          {about && mayChat && <Speaking conversation={about} user={speaker ?? session.user} choose={(user) => { setSpeaker(user); rememberSpeaker(about.id, user); }} />}
        </Composer>}
      </div>
      <Recent current={conversation} round={round} />
    </div>
  );
}

/** Stops the turn that runs: by a button, or by Escape wherever one is. */
function useStop(turn: string | undefined, ask: (request: { type: string }) => Promise<unknown>) {
  const [stopped, setStopped] = useState<string>();
  const stop = () => {
    if (!turn) return;
    setStopped(turn);
    ask({ type: "cancel" }).catch((error: unknown) => {
      setStopped(undefined);
      toast(Refusal.of(error).message, "bad");
    });
  };
  useEffect(() => {
    if (!turn) return;
    const pressed = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) stop();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [turn]);
  return { stop, stopping: turn !== undefined && stopped === turn };
}

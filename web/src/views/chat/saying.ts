// Saying something where the page is: in the conversation it is at, or in a new one, which it goes to as soon as it has begun.
import { useRef } from "preact/hooks";
import type { Occasion } from "../../parts/occasion";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { moveHalfWritten } from "./half_written";
import { letterOf } from "./letter";
import { outbox } from "./outbox";
import { rememberSpeaker, useSpeaker } from "./speaker";
import { type Talking, useTalk } from "./useTalk";

export interface Saying {
  talking: Talking;
  say: (text: string) => void;
  /** Whom one speaks as, if it is somebody else. */
  speaker: string | undefined;
  speakAs: (user: string | undefined) => void;
}

/** `said` is called when conversations may have changed: one has begun, or something was taken in. */
export function useSaying({ conversation, occasion, said }: { conversation: string | undefined; occasion: Occasion; said: () => void }): Saying {
  const session = useSession();
  const here = useRef(conversation);
  here.current = conversation;
  const talking = useTalk(conversation, session.scopes.includes("chat"), {
    begun: (letter, id) => {
      rememberSpeaker(id, letter.speaker?.user);
      said();
      if (here.current !== undefined) return;
      moveHalfWritten("new", id);
      go(href("chat", [id]), "replace");
    },
    taken: said,
  });
  const [speaker, speakAs] = useSpeaker(conversation);
  const say = (text: string) => {
    outbox.add(letterOf(text, conversation === undefined ? { conversation, occasion } : { conversation, speaker }, session));
    talking.post();
  };
  return { talking, say, speaker, speakAs };
}

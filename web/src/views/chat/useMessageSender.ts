// Sends a message to the open conversation, or creates one and navigates to it.
import { useEffect, useRef } from "preact/hooks";
import type { Occasion } from "../../parts/occasion";
import { href, navigate } from "../../shell/router";
import { useSession } from "../../shell/session";
import { moveDraft } from "./composer_drafts";
import { createdBeforeReload, forgetCreated, rememberCreated } from "./created_conversation";
import { outbox } from "./outbox";
import { createOutgoing } from "./outgoing_message";
import { rememberSpeaker, useSpeaker } from "./speaker";
import { type LiveConversation, useLiveConversation } from "./useLiveConversation";

export interface MessageSender {
  live: LiveConversation;
  send: (text: string) => void;
  /** The user to speak as, unless it is the signed-in user. */
  speaker: string | undefined;
  speakAs: (user: string | undefined) => void;
}

/** `onChange` is called when the list of conversations may have changed. */
export function useMessageSender({
  conversation,
  occasion,
  onChange,
}: {
  conversation: string | undefined;
  occasion: Occasion;
  onChange: () => void;
}): MessageSender {
  const session = useSession();
  const openConversation = useRef(conversation);
  openConversation.current = conversation;
  const live = useLiveConversation(conversation, session.scopes.includes("chat"), {
    onCreated: (outgoing, id) => {
      rememberSpeaker(id, outgoing.speaker?.user);
      onChange();
      if (openConversation.current !== undefined) return;
      moveDraft("new", id);
      rememberCreated(id);
      navigate(href("chat", [id]), "replace");
    },
    onAccepted: onChange,
  });
  useEffect(() => {
    if (conversation !== undefined) return () => forgetCreated(conversation);
    const created = createdBeforeReload();
    if (created) navigate(href("chat", [created]), "replace");
  }, [conversation]);
  const [speaker, speakAs] = useSpeaker(conversation);
  const send = (text: string) => {
    outbox.add(
      createOutgoing(
        text,
        conversation === undefined ? { conversation, occasion } : { conversation, speaker },
        session,
      ),
    );
    live.flush();
  };
  return { live, send, speaker, speakAs };
}

// What a conversation is called, and the ways from here.
import type { ConversationBody } from "../../api/schema";
import { Name } from "../../parts/conversation/Name";
import { href } from "../../shell/router";
import { Compact } from "./Compact";
import { type Talk, running } from "../../parts/talk/fold";

export interface HeadProps {
  conversation: string | undefined;
  about: ConversationBody | undefined;
  /** There is no such conversation, or it is somebody else's. */
  missing: boolean;
  mayChat: boolean;
  talk: Talk;
}

export function Head({ conversation, about, missing, mayChat, talk }: HeadProps) {
  return (
    <div class="head">
      <h1 class="wrap">{about ? <Name of={about} whole /> : "Chat"}</h1>
      {conversation && !missing && (
        <div class="row tools">
          <a href={href("prompt", [], { conversation })}>Prompt</a>
          <a href={href("conversations", [conversation])}>All about it</a>
          {mayChat && <Compact conversation={conversation} disabled={running(talk) !== undefined || !talk.loaded} summaries={talk.messages.filter((message) => message.kind === "summary").length} />}
          <a class="button" href={href("chat")}>New chat</a>
        </div>
      )}
    </div>
  );
}

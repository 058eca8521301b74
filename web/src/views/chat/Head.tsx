// The title of a conversation and links to its other views.
import type { ConversationBody } from "../../api/schema";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { type ConversationState, runningTurn } from "../../parts/messages/reducer";
import { href } from "../../shell/router";
import { Compact } from "./Compact";

export interface HeadProps {
  conversation: string | undefined;
  about: ConversationBody | undefined;
  /** The conversation does not exist or belongs to another user. */
  missing: boolean;
  mayChat: boolean;
  state: ConversationState;
}

export function Head({ conversation, about, missing, mayChat, state }: HeadProps) {
  return (
    <div class="head">
      <h1 class="wrap">{about ? <ConversationName of={about} whole /> : "Chat"}</h1>
      {conversation && !missing && (
        <div class="row tools">
          <a href={href("prompt", [], { conversation })}>Prompt</a>
          <a href={href("conversations", [conversation])}>Details</a>
          {mayChat && (
            <Compact
              conversation={conversation}
              disabled={runningTurn(state) !== undefined || !state.loaded}
              summaries={state.messages.filter((message) => message.kind === "summary").length}
            />
          )}
          <a class="button" href={href("chat")}>
            New chat
          </a>
        </div>
      )}
    </div>
  );
}

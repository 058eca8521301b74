// Shows who the user speaks as in an existing conversation, and lets them change it.
import type { ConversationBody } from "../../api/schema";
import { useOccasions } from "../../parts/occasion";
import { useSession } from "../../shell/session";
import { speakerText, trustOf } from "./speaker";

export function SpeakerChoice({
  conversation,
  user,
  choose,
}: {
  conversation: ConversationBody;
  user: string;
  choose: (user: string | undefined) => void;
}) {
  const session = useSession();
  const { value: known } = useOccasions();
  const theirs = conversation.user;
  const choice = session.scopes.includes("assert") && theirs && theirs !== session.user;
  return (
    <p class="speaker">
      <span>
        {speakerText(user, conversation.situation, trustOf(known, user, conversation.situation), user === session.user)}
      </span>
      {choice && (
        <label>
          <span class="visually-hidden">Speak as</span>
          <select
            value={user}
            onChange={(event) =>
              choose(event.currentTarget.value === session.user ? undefined : event.currentTarget.value)
            }
          >
            <option value={session.user}>as {session.user}</option>
            <option value={theirs}>as {theirs}</option>
          </select>
        </label>
      )}
    </p>
  );
}

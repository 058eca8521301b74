// The options of a new conversation: who speaks, in which situation, and to which agent. Users without that permission
// speak as themselves.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import { type Occasion, OccasionPicker, useOccasions } from "../../parts/occasion";
import { EmptyState } from "../../parts/states";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { speakerText, trustOf } from "./speaker";

const ASSERTED = ["user", "situation", "agent"] as const;
const OWN = ["agent"] as const;

export function NewConversation({ occasion, change }: { occasion: Occasion; change: (occasion: Occasion) => void }) {
  const session = useSession();
  const { value: known } = useOccasions();
  const earlier = useQuery("earlier", (signal) =>
    unwrap(api.GET("/api/v1/conversations", { params: { query: { limit: 1 } }, signal })),
  ).value?.items.length;
  const mayAssert = session.scopes.includes("assert");
  const [user, situation] = [occasion.user ?? session.user, occasion.situation ?? "dm"];
  const agent = occasion.agent ?? known?.agents[0]?.name;
  return (
    <div class="begin">
      <EmptyState title="A new conversation">
        <p>
          {agent ? `You talk to ${agent}. ` : ""}Write a message to start
          {!!earlier && (
            <>
              , or continue <a href={href("conversations")}>an earlier conversation</a>
            </>
          )}
          .
        </p>
      </EmptyState>
      {(mayAssert || (known?.agents.length ?? 0) > 1) && (
        <OccasionPicker
          label={mayAssert ? "User, situation and agent" : "Agent"}
          value={occasion}
          change={change}
          fields={mayAssert ? ASSERTED : OWN}
        />
      )}
      <p class="speaker" role="status">
        {speakerText(user, situation, trustOf(known, user, situation), user === session.user)}
      </p>
      {mayAssert && (
        <p class="quiet">
          Trust determines what the agent may reveal and do. You can test it as another user; the conversation is
          recorded as theirs.
        </p>
      )}
    </div>
  );
}

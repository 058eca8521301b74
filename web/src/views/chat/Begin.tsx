// Before the first word: who speaks, where, and to which agent. Whoever may not say that speaks as themselves.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import { Empty } from "../../parts/told";
import { type Occasion, OccasionPicker, useOccasions } from "../../parts/occasion";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { speakerWords, trustOf } from "./speaker";

const ASSERTED = ["user", "situation", "agent"] as const;
const OWN = ["agent"] as const;

export function Begin({ occasion, change }: { occasion: Occasion; change: (occasion: Occasion) => void }) {
  const session = useSession();
  const { value: known } = useOccasions();
  const earlier = useAsking("earlier", (signal) => asked(api.GET("/api/v1/conversations", { params: { query: { limit: 1 } }, signal }))).value?.items.length;
  const asserts = session.scopes.includes("assert");
  const [user, situation] = [occasion.user ?? session.user, occasion.situation ?? "dm"];
  const agent = occasion.agent ?? known?.agents[0]?.name;
  return (
    <div class="begin">
      <Empty title="A new conversation">
        <p>{agent ? `You talk to ${agent}. ` : ""}Write below to begin{!!earlier && <>, or go on with <a href={href("conversations")}>an earlier conversation</a></>}.</p>
      </Empty>
      {(asserts || (known?.agents.length ?? 0) > 1) && <OccasionPicker label={asserts ? "Who you are, where, and whom you talk to" : "Whom you talk to"} value={occasion} change={change} fields={asserts ? ASSERTED : OWN} />}
      <p class="speaker" role="status">{speakerWords(user, situation, trustOf(known, user, situation), user === session.user)}</p>
      {asserts && <p class="quiet">Trust decides what the agent tells and may do. Here you can try how it is for others: the conversation is recorded as theirs.</p>}
    </div>
  );
}

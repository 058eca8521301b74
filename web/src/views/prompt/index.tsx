// The prompt for an occasion, as a stack of layers, as text, beside another one, and as it was frozen for a conversation.
import { useAsking } from "../../api/asking";
import { many, money } from "../../parts/figures";
import { type Occasion, occasionIn, occasionQuery } from "../../parts/occasion";
import { Tabs } from "../../parts/tabs";
import { Answered } from "../../parts/told";
import type { ViewProps } from "../../shell/App";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Choices } from "./Choices";
import { Compare } from "./Compare";
import { CopyAs } from "./CopyAs";
import { Epochs } from "./Epochs";
import { StackTab } from "./StackTab";
import { Summary } from "./Summary";
import { TextTab } from "./TextTab";
import { type Move, type Prompt, build, spoken, whole } from "./prompt";
import "./prompt.css";

const TABS = [
  { id: "stack", title: "Stack" },
  { id: "text", title: "Text" },
  { id: "compare", title: "Compare" },
  { id: "epochs", title: "Epochs" },
];

export function PromptView({ place }: ViewProps) {
  const occasion = occasionIn(place.query);
  const tab = place.query.get("tab") ?? (place.query.get("conversation") ? "epochs" : "stack");
  const move: Move = (changes, how = "push") =>
    go(href("prompt", [], { ...Object.fromEntries(place.query), ...changes }), how);
  const choose = (occasion: Occasion) => move(occasionQuery(occasion));
  const one = tab === "stack" || tab === "text";
  return (
    <div class="prompt">
      <div class="head">
        <h1>Prompt</h1>
        {one && <CopyAs occasion={occasion} />}
        <p>What the model reads first, as thick as its tokens, coloured by how long it stays cached.</p>
      </div>
      {one && <Choices occasion={occasion} choose={choose} />}
      <Tabs tabs={TABS} current={tab} choose={(id) => move({ tab: id })} label="Ways to look at the prompt">
        {tab === "compare" ? <Compare left={occasion} choose={choose} query={place.query} move={move} />
          : tab === "epochs" ? <Epochs query={place.query} move={move} />
          : <Built occasion={occasion} tab={tab} query={place.query} move={move} />}
      </Tabs>
    </div>
  );
}

function Built({ occasion, tab, query, move }: { occasion: Occasion; tab: string; query: URLSearchParams; move: Move }) {
  const { owner } = useSession();
  // Both at once, so that nothing moves when the second one comes; and with what they were asked for, which may be another by now.
  const asking = useAsking(JSON.stringify(occasion), async (signal) => {
    const [prompt, most] = await Promise.all([build(occasion, owner, signal), whole(occasion, owner, signal)]);
    return { prompt, most, occasion };
  });
  const chosen = query.get("layer") ?? undefined;
  return (
    <Answered asking={asking} what="Building the prompt">
      {({ prompt, most, occasion }) => (
        <>
          <NotYours occasion={occasion} />
          <div class={`beside ${tab}`} data-chosen={chosen && tab === "stack" ? "" : undefined} aria-busy={asking.busy}>
            {tab === "stack" && <Glance prompt={prompt} occasion={occasion} />}
            <Summary prompt={prompt} occasion={occasion} whole={most} />
            {tab === "text"
              ? <TextTab prompt={prompt} />
              : <StackTab prompt={prompt} whole={most} chosen={chosen} choose={(layer) => move({ layer }, "replace")} />}
          </div>
        </>
      )}
    </Answered>
  );
}

/** For whoever was given an address that is the owner's to look at. */
function NotYours({ occasion }: { occasion: Occasion }) {
  const { owner, user } = useSession();
  if (owner || !occasion.user || occasion.user === user) return null;
  return <p class="told not-yours">This address is for what {occasion.user} is told. Only the owner can look at that: below is your own prompt.</p>;
}

/** The summary in a line, for where there is no room for all of it. */
function Glance({ prompt, occasion }: { prompt: Prompt; occasion: Occasion }) {
  const { owner, user } = useSession();
  const price = typeof prompt.price?.warm === "number" && `, ${money(prompt.price.warm)} warm, ${money(prompt.price.cold)} cold`;
  return <p class="glance" aria-hidden="true"><strong>{spoken(owner ? occasion : { agent: occasion.agent }, user)}</strong>: {many(prompt.tokens.total, "token")}{price}</p>;
}

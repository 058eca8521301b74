// The prompt view: the prompt for an occasion as a stack of layers, as text, compared with another one, and as frozen
// for a conversation.
import { useQuery } from "../../api/query";
import { money, plural } from "../../parts/format";
import { type Occasion, occasionIn, occasionQuery } from "../../parts/occasion";
import { QueryResult } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import type { ViewProps } from "../../shell/App";
import { href, navigate } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Compare } from "./Compare";
import { CopyAs } from "./CopyAs";
import { Epochs } from "./Epochs";
import { OccasionControls } from "./OccasionControls";
import { build, describeOccasion, type Move, ownerPrompt, type Prompt } from "./prompt";
import { StackTab } from "./StackTab";
import { Summary } from "./Summary";
import { TextTab } from "./TextTab";
import "./prompt.css";

const TABS = [
  { id: "stack", title: "Stack" },
  { id: "text", title: "Text" },
  { id: "compare", title: "Compare" },
  { id: "epochs", title: "Epochs" },
];

export function PromptView({ route }: ViewProps) {
  const occasion = occasionIn(route.query);
  const tab = route.query.get("tab") ?? (route.query.get("conversation") ? "epochs" : "stack");
  const move: Move = (changes, how = "push") =>
    navigate(href("prompt", [], { ...Object.fromEntries(route.query), ...changes }), how);
  const choose = (occasion: Occasion) => move(occasionQuery(occasion));
  const one = tab === "stack" || tab === "text";
  return (
    <div class="prompt">
      <div class="head">
        <h1>Prompt</h1>
        {one && <CopyAs occasion={occasion} />}
        <p>The system prompt as layers: height shows tokens, colour shows cache stability.</p>
      </div>
      {one && <OccasionControls occasion={occasion} choose={choose} />}
      <Tabs tabs={TABS} current={tab} choose={(id) => move({ tab: id })} label="Prompt tabs">
        {tab === "compare" ? (
          <Compare left={occasion} choose={choose} query={route.query} move={move} />
        ) : tab === "epochs" ? (
          <Epochs query={route.query} move={move} />
        ) : (
          <BuiltPrompt occasion={occasion} tab={tab} query={route.query} move={move} />
        )}
      </Tabs>
    </div>
  );
}

function BuiltPrompt({
  occasion,
  tab,
  query,
  move,
}: {
  occasion: Occasion;
  tab: string;
  query: URLSearchParams;
  move: Move;
}) {
  const { owner } = useSession();
  // Loads both at once, so that the layout does not jump, and stores them with their occasions, which may have changed
  // since.
  const result = useQuery(JSON.stringify(occasion), async (signal) => {
    const [prompt, most] = await Promise.all([build(occasion, owner, signal), ownerPrompt(occasion, owner, signal)]);
    return { prompt, most, occasion };
  });
  const chosen = query.get("layer") ?? undefined;
  return (
    <QueryResult query={result} what="Building the prompt">
      {({ prompt, most, occasion }) => (
        <>
          <OwnerOnlyNotice occasion={occasion} />
          <div class={`beside ${tab}`} data-chosen={chosen && tab === "stack" ? "" : undefined} aria-busy={result.busy}>
            {tab === "stack" && <OneLineSummary prompt={prompt} occasion={occasion} />}
            <Summary prompt={prompt} occasion={occasion} ownerPrompt={most} />
            {tab === "text" ? (
              <TextTab prompt={prompt} />
            ) : (
              <StackTab
                prompt={prompt}
                ownerPrompt={most}
                chosen={chosen}
                choose={(layer) => move({ layer }, "replace")}
              />
            )}
          </div>
        </>
      )}
    </QueryResult>
  );
}

/** For users who open a URL that only the owner may see. */
function OwnerOnlyNotice({ occasion }: { occasion: Occasion }) {
  const { owner, user } = useSession();
  if (owner || !occasion.user || occasion.user === user) return null;
  return (
    <p class="callout owner-only">
      This URL shows the prompt for {occasion.user}, which only the owner may see. Your own prompt is below.
    </p>
  );
}

/** A one-line summary for narrow screens. */
function OneLineSummary({ prompt, occasion }: { prompt: Prompt; occasion: Occasion }) {
  const { owner, user } = useSession();
  const price =
    typeof prompt.price?.warm === "number" && `, ${money(prompt.price.warm)} warm, ${money(prompt.price.cold)} cold`;
  return (
    <p class="glance" aria-hidden="true">
      <strong>{describeOccasion(owner ? occasion : { agent: occasion.agent }, user)}</strong>:{" "}
      {plural(prompt.tokens.total, "token")}
      {price}
    </p>
  );
}

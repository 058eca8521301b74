// The owner's desk: what is stored, what is being written, and the ways between them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsking, useEvery } from "../../api/asking";
import { Refusal } from "../../api/client";
import { usePages } from "../../api/pages";
import type { TemplateBody, Variable } from "../../api/schema";
import { inEditor } from "../../parts/drafts";
import { When } from "../../parts/figures";
import { State } from "../../parts/marks";
import { type Occasions, useOccasions } from "../../parts/occasion";
import { onSaveKey } from "../../parts/save_key";
import { Tabs } from "../../parts/tabs";
import { toast } from "../../parts/toast";
import { Answered, Busy } from "../../parts/told";
import { useDraft } from "../../parts/useDraft";
import type { ViewProps } from "../../shell/App";
import { go } from "../../shell/router";
import { type Address, addressOf, addressed } from "./address";
import { useDiscarded } from "./discarded";
import { stored as storedNow, variables as allVariables, versionText, versions } from "./asks";
import { Compare } from "./Compare";
import { useImpact } from "./Cost";
import { Dialogs, type Question } from "./Dialogs";
import { Notices } from "./Notices";
import { Versions } from "./Versions";
import { Write } from "./Write";

export function Desk({ place }: ViewProps) {
  const stored = useAsking("template", storedNow);
  const variables = useAsking("variables", allVariables);
  const occasions = useOccasions();
  // Others may store a version too: whoever is writing learns of it before they save.
  useEvery(20_000, stored.again);
  return (
    <Answered asking={stored} what="Template">{(stored_) => (
      <Answered asking={variables} what="Variables">{(variables) => (
        <Answered asking={occasions} what="Agents">{(occasions) => (
          <Opened stored={stored_} refresh={stored.again} variables={variables} occasions={occasions} query={place.query} />
        )}</Answered>
      )}</Answered>
    )}</Answered>
  );
}

interface OpenedProps {
  stored: TemplateBody;
  refresh: () => void;
  variables: Variable[];
  occasions: Occasions;
  query: URLSearchParams;
}

function Opened({ stored, refresh, variables, occasions, query }: OpenedProps) {
  const version = stored.version ?? 0;
  const current = useMemo(() => ({ version, text: inEditor(stored.template) }), [version, stored.template]);
  const draft = useDraft("template", current);
  const agents = useMemo(() => occasions.agents.filter((agent) => agent.uses_template), [occasions]);
  const [question, ask] = useState<Question>();
  const [setAside, setSetAside] = useState<{ version: number; text: string }>();
  useEffect(() => setSetAside(undefined), [version]);
  const discarded = useDiscarded(draft);
  const history = usePages(`template ${version}`, versions);
  const cost = useImpact(draft?.dirty ? draft.text : undefined);
  const save = useRef(() => {});
  save.current = () => (draft?.dirty ? ask({ kind: draft.overtaken ? "overtaken" : "save" }) : toast(version > 0 ? `Nothing to save: this is version ${version}.` : "Nothing to save."));
  useEffect(() => onSaveKey(() => save.current()), []);
  if (!draft || !discarded) return <Busy what="Template" />;
  const address = addressOf(query, agents, version, draft.dirty);
  const move = (to: Partial<Address>) => go(addressed({ show: address.show, occasion: address.occasion, ...kept(query, address), ...to }), "replace");
  const dialect = agents.find((agent) => agent.name === address.occasion.agent)?.dialect ?? occasions.agents[0]?.dialect ?? "bracket";
  const editFrom = async (from: number) => {
    try {
      const text = inEditor(await versionText(from));
      if (draft.dirty) setSetAside({ version: from, text: draft.text });
      draft.change(text);
      move({ show: "write" });
    } catch (error) {
      toast(Refusal.of(error).message, "bad");
    }
  };
  const compare = (before: number) => {
    move({ show: "versions", comparison: { before, after: draft.dirty || before === version ? "draft" : version, of: address.comparison.of } });
    requestAnimationFrame(() => document.getElementById("compare")?.scrollIntoView({ block: "start" }));
  };
  return (
    <>
      <Head stored={stored} agents={agents} dirty={draft.dirty} save={() => save.current()} />
      <div class="stack-of">
        <Notices draft={discarded.draft} undo={discarded.undo} stored={stored} setAside={setAside} lookAtBoth={() => ask({ kind: "overtaken" })}
          takeBack={() => { if (setAside) draft.change(setAside.text); setSetAside(undefined); }} />
        <Tabs label="Template" current={address.show} choose={(show) => move({ show: show as Address["show"] })} tabs={[{ id: "write", title: "Write" }, { id: "versions", title: "Versions and differences" }]}>
          {/* Hidden, not gone: the cursor and the way back by Ctrl-Z stay. */}
          <div hidden={address.show !== "write"}>
            <Write draft={draft} dialect={dialect} variables={variables} agents={agents} occasion={address.occasion} choose={(occasion) => move({ occasion })} cost={cost} />
          </div>
          {address.show === "versions" && (
            <div class="stack-of">
              <Versions pages={history} current={version} compare={compare} editFrom={editFrom} restore={(version) => ask({ kind: "restore", version })} />
              <Compare comparison={address.comparison} change={(comparison) => move({ comparison })} versions={history.items} stored={current} draft={draft}
                agents={agents} occasion={address.occasion} choose={(occasion) => move({ occasion })} />
            </div>
          )}
        </Tabs>
      </div>
      {question && <Dialogs question={question} ask={ask} draft={discarded.draft} stored={stored} refresh={refresh} />}
    </>
  );
}

/** What is compared stays in the address once somebody chose it; before, it follows what is most likely wanted. */
function kept(query: URLSearchParams, address: Address): Partial<Address> {
  return query.has("before") || query.has("after") || query.has("of") ? { comparison: address.comparison } : {};
}

function Head({ stored, agents, dirty, save }: { stored: TemplateBody; agents: Occasions["agents"]; dirty: boolean; save: () => void }) {
  return (
    <div class="head">
      <h1>Template{agents.length > 0 && <span class="whose"> for {listed(agents.map((agent) => agent.name))}</span>}</h1>
      <p class="row state"><StoredAs stored={stored} />{dirty && <State of="not_saved" />}</p>
      <button class="main" disabled={!dirty} onClick={save}>Save …</button>
    </div>
  );
}

/** `scribe`, `scribe and clerk`, `scribe, clerk and guide`. */
function listed(names: string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function StoredAs({ stored }: { stored: TemplateBody }) {
  if (stored.source === "stored") return <span>Version {stored.version}, by {stored.author}, <When at={stored.at} /></span>;
  if (stored.source === "file") return <span>From the file <code>{stored.origin}</code>; no version is stored yet</span>;
  return <span>The program's own; no version is stored yet</span>;
}

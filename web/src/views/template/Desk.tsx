// The owner's desk: what is stored, what is being written, and the ways between them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsking, useEvery } from "../../api/asking";
import { usePages } from "../../api/pages";
import type { TemplateBody, Variable } from "../../api/schema";
import { inEditor } from "../../parts/drafts";
import { When } from "../../parts/figures";
import { State } from "../../parts/marks";
import { type Occasion, type Occasions, useOccasions } from "../../parts/occasion";
import { onSaveKey } from "../../parts/save_key";
import { Tabs } from "../../parts/tabs";
import { toast, toastRefusal } from "../../parts/toast";
import { Answered, Busy } from "../../parts/told";
import type { Draft } from "../../parts/useDraft";
import type { ViewProps } from "../../shell/App";
import { type Address, moving } from "./address";
import { stored as storedNow, variables as allVariables, versions } from "./asks";
import { Compare } from "./Compare";
import { useImpact } from "./Cost";
import { Dialogs, type Question } from "./Dialogs";
import { Notices } from "./Notices";
import { Versions } from "./Versions";
import { useWork } from "./work";
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
  const work = useWork(current);
  const agents = useMemo(() => occasions.agents.filter((agent) => agent.uses_template), [occasions]);
  const [question, ask] = useState<Question>();
  const [reason, giveReason] = useState("");
  const history = usePages(`template ${version}`, versions);
  const cost = useImpact(work?.draft.dirty ? work.draft.text : undefined);
  const save = useSave(work?.draft, version, ask);
  if (!work) return <Busy what="Template" />;
  const { draft } = work;
  const { address, move } = moving(query, agents, version, draft.dirty);
  const dialect = agents.find((agent) => agent.name === address.occasion.agent)?.dialect ?? occasions.agents[0]?.dialect ?? "bracket";
  const shown = { agents, occasion: address.occasion, choose: (occasion: Occasion) => move({ occasion }) };
  const compare = (before: number) => {
    move({ show: "versions", comparison: { before, after: draft.dirty || before === version ? "draft" : version, of: address.comparison.of } });
    requestAnimationFrame(() => document.getElementById("compare")?.scrollIntoView({ block: "start" }));
  };
  return (
    <>
      <Head stored={stored} agents={agents} dirty={draft.dirty} save={save} />
      <div class="stack-of">
        <Notices work={work} stored={stored} lookAtBoth={() => ask({ kind: "overtaken" })} />
        <Tabs label="Template" current={address.show} choose={(show) => move({ show: show as Address["show"] })} tabs={[{ id: "write", title: "Write" }, { id: "versions", title: "Versions and differences" }]}>
          {/* Hidden, not gone: the cursor and the way back by Ctrl-Z stay. */}
          <div hidden={address.show !== "write"}>
            <Write draft={draft} dialect={dialect} variables={variables} {...shown} cost={cost} />
          </div>
          {address.show === "versions" && (
            <div class="stack-of">
              <Versions pages={history} current={version} compare={compare} editFrom={(version) => void work.goOnFrom(version).then(() => move({ show: "write" }), toastRefusal)} restore={(version) => ask({ kind: "restore", version })} />
              <Compare comparison={address.comparison} change={(comparison) => move({ comparison })} versions={history.items} stored={current} draft={draft} {...shown} />
            </div>
          )}
        </Tabs>
      </div>
      {question && <Dialogs question={question} ask={ask} draft={draft} stored={stored} refresh={refresh} reason={reason} giveReason={giveReason} />}
    </>
  );
}

/** Asks what saving asks for, by a button or by its key. */
function useSave(draft: Draft | undefined, version: number, ask: (question: Question) => void): () => void {
  const save = () => {
    if (draft?.dirty) ask({ kind: draft.overtaken ? "overtaken" : "save" });
    else toast(version > 0 ? `Nothing to save: this is version ${version}.` : "Nothing to save.");
  };
  const latest = useRef(save);
  latest.current = save;
  useEffect(() => onSaveKey(() => latest.current()), []);
  return save;
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

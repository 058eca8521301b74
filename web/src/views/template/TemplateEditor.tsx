// The template editor: the stored version, the draft, and the actions on them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { usePages } from "../../api/pages";
import { useInterval, useQuery } from "../../api/query";
import type { TemplateBody, Variable } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { normalizeLineEndings } from "../../parts/drafts";
import { Timestamp } from "../../parts/format";
import { type Occasion, type Occasions, useOccasions } from "../../parts/occasion";
import { onSaveKey } from "../../parts/save_key";
import { Loading, QueryResult } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { toast, toastError } from "../../parts/toast";
import type { Draft } from "../../parts/useDraft";
import type { ViewProps } from "../../shell/App";
import { Compare } from "./Compare";
import { Dialogs, type Question } from "./Dialogs";
import { Notices } from "./Notices";
import { variables as allVariables, stored as storedNow, versions } from "./requests";
import { useImpact } from "./SaveCost";
import { type UrlState, useUrlState } from "./url_state";
import { useTemplateDraft } from "./useTemplateDraft";
import { Versions } from "./Versions";
import { WriteTab } from "./WriteTab";

export function TemplateEditor({ route }: ViewProps) {
  const stored = useQuery("template", storedNow);
  const variables = useQuery("variables", allVariables);
  const occasions = useOccasions();
  // Polls for versions stored by others, so that the user learns of them before saving.
  useInterval(20_000, stored.reload);
  return (
    <QueryResult query={stored} what="Template">
      {(template) => (
        <QueryResult query={variables} what="Variables">
          {(variables) => (
            <QueryResult query={occasions} what="Agents">
              {(occasions) => (
                <OpenTemplate
                  stored={template}
                  refresh={stored.reload}
                  variables={variables}
                  occasions={occasions}
                  query={route.query}
                />
              )}
            </QueryResult>
          )}
        </QueryResult>
      )}
    </QueryResult>
  );
}

interface OpenTemplateProps {
  stored: TemplateBody;
  refresh: () => void;
  variables: Variable[];
  occasions: Occasions;
  query: URLSearchParams;
}

function OpenTemplate({ stored, refresh, variables, occasions, query }: OpenTemplateProps) {
  const version = stored.version ?? 0;
  const current = useMemo(() => ({ version, text: normalizeLineEndings(stored.template) }), [version, stored.template]);
  const editing = useTemplateDraft(current);
  const agents = useMemo(() => occasions.agents.filter((agent) => agent.uses_template), [occasions]);
  const [question, ask] = useState<Question>();
  const [reason, setReason] = useState("");
  const history = usePages(`template ${version}`, versions);
  const cost = useImpact(editing?.draft.dirty ? editing.draft.text : undefined);
  const save = useSave(editing?.draft, version, ask);
  if (!editing) return <Loading what="Template" />;
  const { draft } = editing;
  const { urlState, move } = useUrlState(query, agents, version, draft.dirty);
  const dialect =
    agents.find((agent) => agent.name === urlState.occasion.agent)?.dialect ??
    occasions.agents[0]?.dialect ??
    "bracket";
  const shown = { agents, occasion: urlState.occasion, choose: (occasion: Occasion) => move({ occasion }) };
  const compare = (before: number) => {
    move({
      show: "versions",
      comparison: { before, after: draft.dirty || before === version ? "draft" : version, of: urlState.comparison.of },
    });
    requestAnimationFrame(() => document.getElementById("compare")?.scrollIntoView({ block: "start" }));
  };
  return (
    <>
      <Head stored={stored} agents={agents} dirty={draft.dirty} save={save} />
      <div class="vertical-stack">
        <Notices editing={editing} stored={stored} showConflict={() => ask({ kind: "conflict" })} />
        <Tabs
          label="Template"
          current={urlState.show}
          choose={(show) => move({ show: show as UrlState["show"] })}
          tabs={[
            { id: "write", title: "Write" },
            { id: "versions", title: "Versions" },
          ]}
        >
          {/* Hidden, not gone: the cursor and the way back by Ctrl-Z stay. */}
          <div hidden={urlState.show !== "write"}>
            <WriteTab draft={draft} dialect={dialect} variables={variables} {...shown} cost={cost} />
          </div>
          {urlState.show === "versions" && (
            <div class="vertical-stack">
              <Versions
                pages={history}
                current={version}
                compare={compare}
                editFrom={(version) =>
                  void editing.continueFrom(version).then(() => move({ show: "write" }), toastError)
                }
                restore={(version) => ask({ kind: "restore", version })}
              />
              <Compare
                comparison={urlState.comparison}
                change={(comparison) => move({ comparison })}
                versions={history.items}
                stored={current}
                draft={draft}
                {...shown}
              />
            </div>
          )}
        </Tabs>
      </div>
      {question && (
        <Dialogs
          question={question}
          ask={ask}
          draft={draft}
          stored={stored}
          refresh={refresh}
          reason={reason}
          setReason={setReason}
        />
      )}
    </>
  );
}

/** Opens the save dialog, by a button or by Ctrl-S. */
function useSave(draft: Draft | undefined, version: number, ask: (question: Question) => void): () => void {
  const save = () => {
    if (draft?.dirty) ask({ kind: draft.conflict ? "conflict" : "save" });
    else toast(version > 0 ? `Nothing to save: this is version ${version}.` : "Nothing to save.");
  };
  const latest = useRef(save);
  latest.current = save;
  useEffect(() => onSaveKey(() => latest.current()), []);
  return save;
}

function Head({
  stored,
  agents,
  dirty,
  save,
}: {
  stored: TemplateBody;
  agents: Occasions["agents"];
  dirty: boolean;
  save: () => void;
}) {
  return (
    <div class="head">
      <h1>
        Template
        {agents.length > 0 && <span class="agent-names"> for {joinNames(agents.map((agent) => agent.name))}</span>}
      </h1>
      <p class="row state">
        <StoredVersion stored={stored} />
        {dirty && <StateBadge of="not_saved" />}
      </p>
      <button type="button" class="main" disabled={!dirty} onClick={save}>
        Save …
      </button>
    </div>
  );
}

/** Joins names: `scribe`, `scribe and clerk`, `scribe, clerk and guide`. */
function joinNames(names: string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function StoredVersion({ stored }: { stored: TemplateBody }) {
  if (stored.source === "stored")
    return (
      <span>
        Version {stored.version}, by {stored.author}, <Timestamp at={stored.at} />
      </span>
    );
  if (stored.source === "file")
    return (
      <span>
        From the file <code>{stored.origin}</code>; no version is stored yet
      </span>
    );
  return <span>Built-in; no version is stored yet</span>;
}

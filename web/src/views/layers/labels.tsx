// Labels and badges of layers.
import type { VersionBody, WriterBody } from "../../api/schema";

const KINDS: Record<string, { word: string; means: string; path: string }> = {
  immutable: {
    word: "locked",
    means: "Read-only, also for the agent",
    path: "M4 7V5a4 4 0 0 1 8 0v2h1v7H3V7zm2 0h4V5a2 2 0 0 0-4 0z",
  },
  mutable: {
    word: "editable",
    means: "The owner and the agent can edit it; versions are kept",
    path: "M11 2l3 3-8 8-4 1 1-4zM9.5 4.5l2 2",
  },
  dynamic: {
    word: "generated each turn",
    means: "Generated every turn; not editable",
    path: "M8 2a6 6 0 1 0 6 6h-2a4 4 0 1 1-4-4v2l4-3-4-3z",
  },
};

export function KindBadge({ of }: { of: string }) {
  const kind = KINDS[of] ?? { word: of, means: "", path: "" };
  return (
    <span class="badge kind" data-kind={of} title={kind.means}>
      <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
        <path d={kind.path} />
      </svg>{" "}
      {kind.word}
    </span>
  );
}

export function kindDescription(of: string): string {
  return KINDS[of]?.means ?? "";
}

export function authorText(writer: WriterBody): string {
  if (writer.kind === "program") return "the program";
  return writer.name ? `${writer.name} (${writer.kind})` : `the ${writer.kind}`;
}

export function originText(version: VersionBody): string {
  if (version.origin === "default") return "the program's text";
  if (version.origin === "rollback") return version.restores ? `version ${version.restores} again` : "taken back";
  return "rewritten";
}

// The template view: edit, preview, compare and save the template.
import "./template.css";
import type { ViewProps } from "../../shell/App";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { TemplateEditor } from "./TemplateEditor";

export function TemplateView(props: ViewProps) {
  return useSession().owner ? <TemplateEditor {...props} /> : <NotTheOwner />;
}

function NotTheOwner() {
  return (
    <>
      <div class="head">
        <h1>Template</h1>
      </div>
      <div class="empty">
        <p>
          <strong>Only the owner can see the template</strong>
        </p>
        <p>It may name private files, so only the owner can read and edit it.</p>
        <p>
          Your rendered prompt is under <a href={href("prompt")}>Prompt</a>.
        </p>
      </div>
    </>
  );
}

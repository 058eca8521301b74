// The template: written, tried out, compared with what it was, and stored as its next version.
import "./template.css";
import type { ViewProps } from "../../shell/App";
import { useSession } from "../../shell/session";
import { href } from "../../shell/router";
import { Desk } from "./Desk";

export function TemplateView(props: ViewProps) {
  return useSession().owner ? <Desk {...props} /> : <NotTheOwner />;
}

function NotTheOwner() {
  return (
    <>
      <div class="head"><h1>Template</h1></div>
      <div class="empty">
        <p><strong>The template is the owner's</strong></p>
        <p>It may name files that not everybody should know of, so only the owner reads and writes it.</p>
        <p>What comes of it for you is under <a href={href("prompt")}>Prompt</a>.</p>
      </div>
    </>
  );
}

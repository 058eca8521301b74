// What a stranger sees: where a token is had, and a field for it.
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "../api/client";
import { Told } from "../parts/told";
import { type Session, open } from "./session";

export function SignIn({ entered, refusal: before }: { entered: (session: Session) => void; refusal?: Refusal }) {
  const [token, setToken] = useState("");
  const [refusal, setRefusal] = useState(before);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const enter = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      entered(await open({ token: token.trim() }));
    } catch (error) {
      const { code, message, help, status } = Refusal.of(error);
      // Nobody tries a token again but who holds it.
      setRefusal(new Refusal(code, message, code === "unreachable" ? "Try again in a moment." : help, status));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="alone">
      <form class="signin" onSubmit={enter}>
        <h1><img src="/icon.svg" alt="" width="36" height="36" /> Foreword</h1>
        <p>The words your agent reads first. To look at them, show a token.</p>
        {refusal && <Told refusal={refusal} />}
        <label>
          Token
          <input ref={field} name="token" type="password" autocomplete="current-password" placeholder="fwd_…" value={token} required spellcheck={false}
            onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <button class="main" disabled={busy || token.trim() === ""}>{busy ? "Opening …" : "Open"}</button>
        <p class="quiet">The first start of <code>foreword serve</code> shows one; <code>foreword token create</code> makes another. It is kept in a cookie that no script can read.</p>
      </form>
    </main>
  );
}

// The sign-in form.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { ErrorNotice } from "../parts/states";
import { openSession, type Session } from "./session";

export function SignIn({ onSignedIn, error: before }: { onSignedIn: (session: Session) => void; error?: ApiError }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(before);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      onSignedIn(await openSession({ token: token.trim() }));
    } catch (error) {
      const { code, message, help, status } = ApiError.of(error);
      // The page does not retry a sign-in, so it does not promise to.
      setError(new ApiError(code, message, code === "unreachable" ? "Try again in a moment." : help, status));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="alone">
      <form class="signin" onSubmit={submit}>
        <h1>
          <img src="/icon.svg" alt="" width="36" height="36" /> Foreword
        </h1>
        <p>A system-prompt engine and agent gateway. Sign in with a token.</p>
        {error && <ErrorNotice error={error} />}
        <label>
          Token
          <input
            ref={field}
            name="token"
            type="password"
            autocomplete="current-password"
            placeholder="fwd_…"
            value={token}
            required
            spellcheck={false}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="main" disabled={busy || token.trim() === ""}>
          {busy ? "Opening …" : "Open"}
        </button>
        <p class="quiet">
          The first start of <code>foreword serve</code> prints a token; <code>foreword token create</code> creates
          another. The page keeps it in an HttpOnly cookie.
        </p>
      </form>
    </main>
  );
}

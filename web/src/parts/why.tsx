// Asks for the reason of a change: a line for the history.

export function Why({ value, change, first = false }: { value: string; change: (reason: string) => void; /** Whether one begins here. */ first?: boolean }) {
  return (
    <label class="field">Why? <span class="quiet">A line for the history, if you like.</span>
      <input name="message" value={value} maxLength={500} autoFocus={first} autocomplete="off" onInput={(event) => change(event.currentTarget.value)} />
    </label>
  );
}

// A form field for the reason of a change.

export function ReasonField({
  value,
  change,
  first = false,
}: {
  value: string;
  change: (reason: string) => void;
  /** Whether the field takes the focus. */
  first?: boolean;
}) {
  return (
    <label class="field">
      Why? <span class="quiet">Optional; shown in the history.</span>
      <input
        name="message"
        value={value}
        maxLength={500}
        autoFocus={first}
        autocomplete="off"
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

// What was written and is not taken in yet: it waits, or was refused and somebody has to decide.
import { type Letter, outbox } from "./outbox";

export function Letters({ letters, offline, post }: { letters: Letter[]; offline: boolean; post: () => void }) {
  const again = (letter: Letter) => {
    outbox.change(letter.key, { problem: undefined });
    post();
  };
  return (
    <>
      {letters.map((letter) => (
        <article key={letter.key} class="bubble mine unsent">
          <header>
            <strong>{letter.author}</strong>
            <span>{letter.problem ? "not sent" : offline ? "waits for the connection" : "sending …"}</span>
          </header>
          <p class="speech">{letter.text}</p>
          {letter.problem && (
            <div class="told bad" role="alert">
              <p><strong>This was not taken in:</strong> {letter.problem.message}</p>
              {letter.problem.help && <p>{letter.problem.help}</p>}
              <div class="row">
                <button onClick={() => again(letter)}>Try again</button>
                <button onClick={() => outbox.remove(letter.key)}>Drop it</button>
              </div>
            </div>
          )}
        </article>
      ))}
    </>
  );
}

// Answers on their way to bridges: what waits, what was given up, and another try.
import { useState } from "preact/hooks";
import { useEvery } from "../../api/asking";
import { api, asked } from "../../api/client";
import { usePages } from "../../api/pages";
import type { DeliveryItem } from "../../api/schema";
import { Name } from "../../parts/conversation/Name";
import { When, count } from "../../parts/figures";
import { Listed } from "../../parts/list";
import { State } from "../../parts/marks";
import { Scrolled } from "../../parts/scrolled";
import { Ticked } from "../../parts/ticked";
import { toast, toastRefusal } from "../../parts/toast";
import { Empty } from "../../parts/told";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { EVERY_MS } from "./standing";

const AT_ONCE = 50;

export function Deliveries() {
  const pages = usePages<DeliveryItem>("deliveries", (after, signal) => asked(api.GET("/api/v1/channels/deliveries", { params: { query: { limit: AT_ONCE, after } }, signal })));
  useEvery(EVERY_MS, () => pages.items.length <= AT_ONCE && pages.look());
  return (
    <Listed pages={pages} what="Deliveries" empty={<Empty title="Nothing is on its way."><p>Answers to messages from bridges, such as a messenger's, pass through here.</p></Empty>}>
      {(items) => (
        <Scrolled label="Deliveries">
          <table>
            <thead><tr><th scope="col">Channel</th><th scope="col">State</th><th scope="col" class="number">Tries</th><th scope="col">Noted</th><th scope="col">What happened</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
            <tbody>{items.map((item) => <Delivery key={item.id} item={item} again={pages.again} />)}</tbody>
          </table>
        </Scrolled>
      )}
    </Listed>
  );
}

function Delivery({ item, again }: { item: DeliveryItem; again: () => void }) {
  const { scopes } = useSession();
  const [busy, setBusy] = useState(false);
  const retry = async () => {
    setBusy(true);
    try {
      await asked(api.POST("/api/v1/channels/deliveries/{id}/retry", { params: { path: { id: item.id } } }));
      toast(`The answer to ${item.channel} is tried again.`);
      again();
    } catch (error) {
      toastRefusal(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <tr>
      <th scope="row" class="name wrap">{item.channel}<span class="line"><a href={href("conversations", [item.conversation])}><Name of={{ id: item.conversation }} /></a></span></th>
      <td><State of={item.status} />{item.status === "waiting" && <span class="quiet line">next try <When at={item.dueAt} /></span>}</td>
      <td class="number">{count(item.attempts)}</td>
      <td><When at={item.createdAt} /></td>
      <td class="wrap">{item.error ? <Ticked words={item.error} /> : <span class="quiet">nothing went wrong</span>}{item.turn && <span class="line"><a href={href("trace", [item.turn])}>Trace</a></span>}</td>
      <td>{item.status !== "delivered" && scopes.includes("admin") && <button onClick={retry} disabled={busy} aria-label={`Try the answer to ${item.channel} again`}>{busy ? "Trying …" : "Try again"}</button>}</td>
    </tr>
  );
}

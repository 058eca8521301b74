// Two texts side by side, loaded when they are first wanted: most of the page needs no editor.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refusal } from "../../api/client";
import { Busy, Told } from "../told";
import type { DiffProps } from "./Diff";

export function DiffLater(props: DiffProps) {
  const [Loaded, setLoaded] = useState<ComponentType<DiffProps>>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./Diff").then((loaded) => setLoaded(() => loaded.Diff), () => setFailed(true));
  }, []);
  if (failed) return <Told refusal={new Refusal("stale", "This part of the page could not be loaded.", "The server may be another version by now: reload the page.")} />;
  return Loaded ? <Loaded {...props} /> : <Busy what="The two texts" />;
}

// Loads the diff component on demand: most of the page needs no editor.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { ErrorNotice, Loading } from "../states";
import type { DiffProps } from "./Diff";

export function LazyDiff(props: DiffProps) {
  const [Loaded, setLoaded] = useState<ComponentType<DiffProps>>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./Diff").then(
      (loaded) => setLoaded(() => loaded.Diff),
      () => setFailed(true),
    );
  }, []);
  if (failed)
    return (
      <ErrorNotice
        error={
          new ApiError(
            "stale",
            "This part of the page could not be loaded.",
            "The server may have been updated. Reload the page.",
          )
        }
      />
    );
  return Loaded ? <Loaded {...props} /> : <Loading what="Diff" />;
}

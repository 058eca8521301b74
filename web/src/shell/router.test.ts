import { describe, expect, it } from "vitest";
import { href, parseRoute } from "./router";

describe("an address", () => {
  it("leads back to the place it was made for", () => {
    const place = parseRoute(href("trace", ["turn/1 ü"], { conversation: "c?&1", empty: undefined }));
    expect(place.view).toBe("trace");
    expect(place.rest).toEqual(["turn/1 ü"]);
    expect([...place.query]).toEqual([["conversation", "c?&1"]]);
  });

  it("that is empty or broken is no failure", () => {
    expect(parseRoute("").view).toBe("prompt");
    expect(parseRoute("#/trace/%E0%A4%A").rest).toEqual(["%E0%A4%A"]);
  });
});

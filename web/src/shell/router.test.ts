import { describe, expect, it } from "vitest";
import { href, placeOf } from "./router";

describe("an address", () => {
  it("leads back to the place it was made for", () => {
    const place = placeOf(href("trace", ["turn/1 ü"], { conversation: "c?&1", empty: undefined }));
    expect(place.view).toBe("trace");
    expect(place.rest).toEqual(["turn/1 ü"]);
    expect([...place.query]).toEqual([["conversation", "c?&1"]]);
  });

  it("that is empty or broken is no failure", () => {
    expect(placeOf("").view).toBe("prompt");
    expect(placeOf("#/trace/%E0%A4%A").rest).toEqual(["%E0%A4%A"]);
  });
});

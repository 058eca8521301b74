// Times are shown in the browser's time zone and stay current.

import { post } from "./chat_helpers";
import { expect, test } from "./fixtures";

for (const zone of ["Europe/Berlin", "Asia/Kolkata", "America/Los_Angeles"]) {
  test.describe(`time zone ${zone}`, () => {
    test.use({ timezoneId: zone });

    test("times are shown in the browser's time zone", async ({ page, open }) => {
      await open("#/conversations");
      const group = page.getByRole("row", { name: /The garden group/ }).locator("time");
      const time = new Date((await group.getAttribute("datetime")) ?? "");
      const format = (options: Intl.DateTimeFormatOptions) =>
        time.toLocaleString("en-GB", { ...options, timeZone: zone });
      await expect(group).toHaveAttribute(
        "title",
        new RegExp(
          `^${format({ day: "numeric", month: "short", year: "numeric" })}.*${format({ timeStyle: "medium" })}`,
        ),
      );
      // A turn shows date and time, and each of its spans shows seconds.
      await open("#/trace?conversation=bookshelf");
      await page.locator("th.when a").first().click();
      const startTime = page.locator(".head time").first();
      const expectedTime = new Date((await startTime.getAttribute("datetime")) ?? "").toLocaleString("en-GB", {
        timeStyle: "medium",
        timeZone: zone,
      });
      await expect(startTime).toContainText(expectedTime);
      await page.locator("button[data-span]").first().click();
      const spanTime = page.locator(".span-fields caption time").first();
      expect(await spanTime.innerText()).toBe(
        new Date((await spanTime.getAttribute("datetime")) ?? "").toLocaleString("en-GB", {
          timeStyle: "medium",
          timeZone: zone,
        }),
      );
    });
  });
}

test("relative time updates without any request", async ({ page, open }) => {
  await page.clock.install();
  await open("#/conversations");
  const { id } = await post<{ id: string }>(page, "/api/v1/conversations", { title: "Just begun" });
  await open(`#/conversations/${id}`);
  const startTime = page.getByText("Began", { exact: true }).locator("+ dd");
  // A busy machine may need some seconds, but less than a minute.
  await expect(startTime).toHaveText(/^(just now|\d+ s ago)$/);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.clock.runFor(150_000);
  await expect(startTime).toHaveText(/^\d min ago$/);
  await page.clock.runFor(3_600_000 * 3);
  await expect(startTime).toHaveText("3 h ago");
  expect(requests).toEqual([]);
});

// Times are shown in the browser's time zone and stay current.
import { expect, test } from "./page";
import { post } from "./talk";

for (const zone of ["Europe/Berlin", "Asia/Kolkata", "America/Los_Angeles"]) {
  test.describe(`for a reader in ${zone}`, () => {
    test.use({ timezoneId: zone });

    test("times are told in their own zone", async ({ page, open }) => {
      await open("#/conversations");
      const group = page.getByRole("row", { name: /The garden group/ }).locator("time");
      const at = new Date((await group.getAttribute("datetime")) ?? "");
      const there = (how: Intl.DateTimeFormatOptions) => at.toLocaleString("en-GB", { ...how, timeZone: zone });
      await expect(group).toHaveAttribute(
        "title",
        new RegExp(`^${there({ day: "numeric", month: "short", year: "numeric" })}.*${there({ timeStyle: "medium" })}`),
      );
      // A turn shows date and time, and each of its spans shows seconds.
      await open("#/trace?conversation=bookshelf");
      await page.locator("th.when a").first().click();
      const began = page.locator(".head time").first();
      const hour = new Date((await began.getAttribute("datetime")) ?? "").toLocaleString("en-GB", {
        timeStyle: "medium",
        timeZone: zone,
      });
      await expect(began).toContainText(hour);
      await page.locator("button[data-span]").first().click();
      const step = page.locator(".span-fields caption time").first();
      expect(await step.innerText()).toBe(
        new Date((await step.getAttribute("datetime")) ?? "").toLocaleString("en-GB", {
          timeStyle: "medium",
          timeZone: zone,
        }),
      );
    });
  });
}

test("what was just now grows old while one looks at it, and nothing is asked for it", async ({ page, open }) => {
  await page.clock.install();
  await open("#/conversations");
  const { id } = await post<{ id: string }>(page, "/api/v1/conversations", { title: "Just begun" });
  await open(`#/conversations/${id}`);
  const began = page.getByText("Began", { exact: true }).locator("+ dd");
  // Allow for a busy machine, but not for a minute.
  await expect(began).toHaveText(/^(just now|\d+ s ago)$/);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.clock.runFor(150_000);
  await expect(began).toHaveText(/^\d min ago$/);
  await page.clock.runFor(3_600_000 * 3);
  await expect(began).toHaveText("3 h ago");
  expect(asked).toEqual([]);
});

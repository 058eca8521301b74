//! What tokens have spent on a day: the sum that their limits are held against. Nodes add what they have seen, and read what
//! all of them have.

use foreword_core::id::TokenId;
use foreword_core::money::Money;

use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// How many days are kept.
const KEPT: u32 = 32;

impl Store {
    /// Adds to what tokens have spent on `day` (`2026-11-16`, UTC), and gives what every token has spent on it.
    ///
    /// # Errors
    /// If it can't be written: then nothing was added.
    pub async fn add_spending(
        &self,
        day: &str,
        spent: Vec<(TokenId, Money)>,
    ) -> Result<Vec<(TokenId, Money)>, StoreError> {
        self.run(Spend { day: day.to_owned(), spent }).await
    }

    /// What every token has spent on `day`.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn spending(&self, day: &str) -> Result<Vec<(TokenId, Money)>, StoreError> {
        self.run(Spent { day: day.to_owned() }).await
    }
}

struct Spend {
    day: String,
    spent: Vec<(TokenId, Money)>,
}

impl Operation for Spend {
    type Output = Vec<(TokenId, Money)>;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Self::Output, StoreError> {
        let add = "INSERT INTO token_spending (token_id, day, picodollars) VALUES (?1, ?2, ?3)
            ON CONFLICT (token_id, day) DO UPDATE
            SET picodollars = token_spending.picodollars + excluded.picodollars";
        for (token, money) in &self.spent {
            // Nobody spends nine million dollars in a moment; if somebody does, it is enough to stop them.
            let picodollars = i64::try_from(money.picodollars()).unwrap_or(i64::MAX / 2);
            sql.execute(add, values![token, &self.day, picodollars]).await?;
        }
        // Days are few, and are looked at in the order they are written in.
        let old = "DELETE FROM token_spending WHERE day IN
            (SELECT day FROM token_spending GROUP BY day ORDER BY day DESC LIMIT 1000 OFFSET ?1)";
        sql.execute(old, values![KEPT]).await?;
        of_day(sql, &self.day).await
    }
}

struct Spent {
    day: String,
}

impl Operation for Spent {
    type Output = Vec<(TokenId, Money)>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Self::Output, StoreError> {
        of_day(sql, &self.day).await
    }
}

async fn of_day<S: Sql>(sql: &mut S, day: &str) -> Result<Vec<(TokenId, Money)>, StoreError> {
    let select = "SELECT token_id, picodollars FROM token_spending WHERE day = ?1 ORDER BY token_id";
    sql.query(select, values![day]).await?.iter().map(spent).collect()
}

fn spent(row: &Row) -> Result<(TokenId, Money), StoreError> {
    let picodollars: i64 = row.get(1)?;
    Ok((row.parse(0)?, Money::from_picodollars(u64::try_from(picodollars).unwrap_or(0))))
}

//! The daily spending of API tokens, for enforcing their budgets. Each node adds its own spending and reads the
//! total.

use foreword_core::id::TokenId;
use foreword_core::money::Money;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// How many days are kept.
const RETENTION_DAYS: u32 = 32;

impl Store {
    /// Adds to the tokens' spending on `day` (`2026-11-16`, UTC). Returns the total of every token on that day.
    ///
    /// # Errors
    /// If the database can't be written: then nothing was added.
    pub async fn add_spending(
        &self,
        day: &str,
        spent: Vec<(TokenId, Money)>,
    ) -> Result<Vec<(TokenId, Money)>, StoreError> {
        self.run(Spend { day: day.to_owned(), spent }).await
    }

    /// The spending of every token on `day`.
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

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        let add = "INSERT INTO token_spending (token_id, day, picodollars) VALUES (?1, ?2, ?3)
            ON CONFLICT (token_id, day) DO UPDATE
            SET picodollars = token_spending.picodollars + excluded.picodollars";
        for (token, money) in &self.spent {
            // Saturates at about nine million dollars, which exceeds any budget.
            let picodollars = i64::try_from(money.picodollars()).unwrap_or(i64::MAX / 2);
            sql.execute(add, values![token, &self.day, picodollars]).await?;
        }
        // There are few days, and the primary key orders them.
        let old = "DELETE FROM token_spending WHERE day IN
            (SELECT day FROM token_spending GROUP BY day ORDER BY day DESC LIMIT 1000 OFFSET ?1)";
        sql.execute(old, values![RETENTION_DAYS]).await?;
        of_day(sql, &self.day).await
    }
}

struct Spent {
    day: String,
}

impl Operation for Spent {
    type Output = Vec<(TokenId, Money)>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        of_day(sql, &self.day).await
    }
}

async fn of_day(sql: &mut Transaction<'_>, day: &str) -> Result<Vec<(TokenId, Money)>, StoreError> {
    let select = "SELECT token_id, picodollars FROM token_spending WHERE day = ?1 ORDER BY token_id";
    sql.query(select, values![day]).await?.iter().map(spent).collect()
}

fn spent(row: &Row) -> Result<(TokenId, Money), StoreError> {
    let picodollars: i64 = row.get(1)?;
    Ok((row.parse(0)?, Money::from_picodollars(u64::try_from(picodollars).unwrap_or(0))))
}

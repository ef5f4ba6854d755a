//! The account at a directory.

use instant_acme::{Account, AccountCredentials, NewAccount};
use tokio_rustls::TlsConnector;
use tracing::info;
use zeroize::Zeroizing;

use super::Failure;
use super::http::Client;
use super::settings::Settings;
use super::storage::Storage;

/// The stored account, or a new one, which is stored.
///
/// Errors: the directory cannot be reached or refuses the account, or nothing can be stored.
pub(super) async fn open(settings: &Settings, storage: &Storage, connector: TlsConnector) -> Result<Account, Failure> {
    let builder = Account::builder_with_http(Box::new(Client::new(connector)));
    if let Some(stored) = storage.account().await? {
        let credentials: AccountCredentials = serde_json::from_slice(&stored)?;
        return Ok(builder.from_credentials(credentials).await?);
    }
    let contact = settings.contact.as_ref().map(|contact| format!("mailto:{contact}"));
    let contact: Vec<&str> = contact.as_deref().into_iter().collect();
    let account = NewAccount {
        contact: &contact,
        terms_of_service_agreed: settings.accept_terms,
        only_return_existing: false,
    };
    let (account, credentials) = builder.create(&account, settings.directory.clone(), None).await?;
    let text = Zeroizing::new(serde_json::to_string(&credentials)?);
    storage.save_account(text).await?;
    info!(account = account.id(), "an ACME account was made");
    Ok(account)
}

//! The API server as the authority.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::{Authority, NoAnswer, User};

/// Longest time for one question: a scraper gives up after ten seconds.
const CALL_LIMIT: Duration = Duration::from_secs(5);

/// Asks by TokenReview and SubjectAccessReview.
pub struct ApiServer(Client);

impl ApiServer {
    /// Takes a client whose user may create both kinds of review.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    async fn ask<K>(&self, question: &K) -> Result<K, NoAnswer>
    where
        K: kube::Resource<DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.0.clone());
        let params = PostParams::default();
        match tokio::time::timeout(CALL_LIMIT, api.create(&params, question)).await {
            Ok(Ok(answer)) => Ok(answer),
            // Its words may repeat the token: only the code is passed on.
            Ok(Err(kube::Error::Api(status))) => {
                Err(NoAnswer(format!("status {} to a review", status.code)))
            }
            Ok(Err(_)) => Err(NoAnswer("it cannot be reached".to_owned())),
            Err(_) => Err(NoAnswer("no answer in time".to_owned())),
        }
    }
}

impl Authority for ApiServer {
    async fn who(&self, token: &str) -> Result<Option<User>, NoAnswer> {
        let question = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let status = self.ask(&question).await?.status.unwrap_or_default();
        let user = status.authenticated.unwrap_or_default();
        Ok(user.then(|| user_of(status.user.unwrap_or_default())))
    }

    async fn may(&self, user: &User, verb: &str, path: &str) -> Result<bool, NoAnswer> {
        let extra: BTreeMap<_, _> = user.extra.iter().cloned().collect();
        let question = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.name.clone()),
                uid: Some(user.uid.clone()),
                groups: Some(user.groups.clone()),
                extra: Some(extra),
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(verb.to_owned()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        };
        let status = self.ask(&question).await?.status;
        Ok(status.is_some_and(|status| status.allowed))
    }
}

fn user_of(info: UserInfo) -> User {
    User {
        name: info.username.unwrap_or_default(),
        uid: info.uid.unwrap_or_default(),
        groups: info.groups.unwrap_or_default(),
        extra: info.extra.unwrap_or_default().into_iter().collect(),
    }
}

;;; jumpseat-keys.el --- Store API keys  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The daemon stores and tests API keys.  Emacs only asks the user for them,
;; without showing them, and does not keep them.

;;; Code:

(require 'jumpseat-account)

(defconst jumpseat-keys--places '(("keyring" . "the system's keyring") ("file" . "a private file"))
  "The places where the daemon stores keys.")

(defun jumpseat-keys--report (provider result)
  "Report RESULT of `keys/set' for PROVIDER."
  (let ((place (cdr (assoc (plist-get result :stored) jumpseat-keys--places)))
        (err (jumpseat--get result :test :error)))
    (cond ((null place)
           (jumpseat--say "The key was not stored. %s" (jumpseat--format-error err)))
          (err
           (jumpseat--say "The key of %s is stored in %s, but it could not be tested. %s"
                          provider place (jumpseat--format-error err)))
          (t (jumpseat--say "The key of %s works, and is stored in %s." provider place)))))

(defun jumpseat-keys--read-provider (prompt)
  "Prompt with PROMPT for a provider with an API key, and return its id."
  (jumpseat--account-read-provider
   prompt (lambda (each) (equal "api_key" (plist-get each :authMethod))) t))

(defun jumpseat-set-key (provider)
  "Read an API key of PROVIDER without showing it, test it, and store it."
  (interactive (list (jumpseat-keys--read-provider "Set the API key for")))
  (let ((key (read-passwd (format "API key of %s: " provider))))
    (when (string-blank-p key) (user-error "No key was entered"))
    (jumpseat--rpc-request
     "keys/set" (list :provider provider :key key)
     (jumpseat--make-callback (apply-partially #'jumpseat-keys--report provider)))))

(defun jumpseat-remove-key (provider)
  "Remove the API key of PROVIDER that jumpseat has stored."
  (interactive (list (jumpseat-keys--read-provider "Remove the API key of")))
  (jumpseat--rpc-request
   "keys/remove" (list :provider provider)
   (jumpseat--make-callback
    (lambda (result)
      (jumpseat--say (if (jumpseat--true-p (plist-get result :removed))
                         "The key of %s was removed."
                       "jumpseat has not stored a key of %s.")
                     provider)))))

(provide 'jumpseat-keys)
;;; jumpseat-keys.el ends here

;;; jumpseat-install.el --- Install the jumpseat daemon  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `jumpseat-install' installs the daemon into its own virtual environment.
;; If a question fails because nothing can answer it yet, the next step is
;; offered: to install the daemon, to sign in or to install the local model.

;;; Code:

(require 'jumpseat-account)

(defvar jumpseat-install--running nil "Whether an installation is running.")

(defvar jumpseat--installed-functions nil
  "Functions that are called when an installation has ended.
Their argument says whether it succeeded.")

;; In a package, the script is beside this file; in the repository, it is one
;; directory above.
(defconst jumpseat-install--script
  (let ((directory (file-name-directory (or load-file-name buffer-file-name))))
    (or (locate-file "bootstrap.py" (list directory (expand-file-name ".." directory)))
        "bootstrap.py"))
  "The script with which all editors install the daemon.")

(defun jumpseat-install--find-launchers ()
  "Return the commands that can run the script, best first."
  (let ((uv (jumpseat--find-program "uv"))
        (pythons (delq nil (mapcar #'jumpseat--find-program '("python3" "python")))))
    (append (when uv
              `((,uv "run" "--no-project" "--python" ">=3.11" ,jumpseat-install--script "--uv" ,uv)))
            (mapcar (lambda (python) (list python jumpseat-install--script)) pythons))))

(defun jumpseat-install--finish (ok message)
  "End the installation, which succeeded if OK, and show MESSAGE."
  (setq jumpseat-install--running nil)
  (jumpseat--say "%s" message)
  (run-hook-with-args 'jumpseat--installed-functions ok))

(defun jumpseat-install--run (launchers arguments)
  "Run the script with ARGUMENTS and the first of LAUNCHERS that can run it."
  (if (null launchers)
      (jumpseat-install--finish
       nil "jumpseat needs uv, or Python 3.11 or newer with venv. Neither was found.")
    (let ((command (append (car launchers) arguments))
          ;; A workspace must not choose uv's Python.
          (default-directory (expand-file-name "~/"))
          (output "")
          (last ""))
      (jumpseat--log-write "%s" (string-join command " "))
      ;; The script ends when its input closes, which happens when Emacs exits.
      (make-process
       :name "jumpseat-install" :command command :noquery t :connection-type 'pipe
       :stderr (make-pipe-process
                :name "jumpseat-install-log" :noquery t :sentinel #'ignore
                :filter (jumpseat--log-filter))
       :filter (lambda (_ text)
                 (setq output (concat output text)
                       last (car (last (split-string output "\n" t))))
                 (message "%s" last))
       :sentinel (lambda (process _change)
                   (unless (process-live-p process)
                     (pcase (process-exit-status process)
                       (0 (jumpseat-install--finish t last))
                       ;; The installation failed or was cancelled.
                       ((or 20 21)
                        (jumpseat-install--finish nil (jumpseat-install--add-advice last)))
                       (_ (jumpseat-install--run (cdr launchers) arguments)))))))))

(defun jumpseat-install--add-advice (reason)
  "Return the REASON for a failed installation, with advice added."
  (format-message "%s Set `jumpseat-package' to install a wheel or a checkout. %s shows all output."
                  reason (substitute-command-keys "\\[jumpseat-log]")))

(defun jumpseat-install (&optional again)
  "Install the daemon into a virtual environment of its own.
With a prefix argument AGAIN, install it even if this version is installed."
  (interactive "P")
  (cond
   (jumpseat-install--running (jumpseat--say "jumpseat is already being installed."))
   ((and (not again) (jumpseat--installed-program))
    (jumpseat--say "jumpseat %s is already installed; use a prefix argument to reinstall it."
                   jumpseat-version))
   (t
    (setq jumpseat-install--running t)
    (jumpseat--say "Installing jumpseat …")
    (jumpseat-install--run
     (jumpseat-install--find-launchers)
     `("--directory" ,(expand-file-name (jumpseat--install-directory)) "--key" ,jumpseat-version
       ,@(when again '("--again"))
       ,@(when jumpseat-package (list jumpseat-package)))))))

;;; Offers

(defun jumpseat-install--install-local-model ()
  "Install the local model."
  (jumpseat--say "Installing the local model …")
  (jumpseat--run-process
   (append (jumpseat--program) '("local" "install"))
   (lambda (code output)
     (if (eql code 0)
         (jumpseat--say "The local model is installed. Send the question again.")
       (jumpseat--say "The local model was not installed: %s" output)))))

(defun jumpseat-install--offer (prompt &rest items)
  "Show PROMPT, and offer ITEMS and \"Not now\".
Each item is a list of a name and a function."
  (jumpseat--ui-offer prompt (append items '(("Not now" ignore))) #'funcall))

(defun jumpseat-install--offer-after (err _reason)
  "Offer the next step after ERR if there is no program or no ready provider."
  (cond
   ((null err))
   (jumpseat-install--running
    (jumpseat--say "jumpseat is being installed: send the question again afterwards."))
   ((null (jumpseat--program))
    (jumpseat-install--offer "jumpseat is not installed"
                             '("Install jumpseat" jumpseat-install)))
   ((equal "authentication" (jumpseat--get err :data :kind))
    (jumpseat--models-providers
     (lambda (failure providers)
       (unless (or failure
                   (seq-some (lambda (each) (jumpseat--true-p (plist-get each :configured)))
                             providers))
         (jumpseat-install--offer "No provider is ready"
                                  '("Sign in" jumpseat-login)
                                  '("Install the local model"
                                    jumpseat-install--install-local-model))))))))

;; Use the package's own hook: the user's functions run later, and may fail.
(add-hook 'jumpseat--turn-ended-functions #'jumpseat-install--offer-after)

(provide 'jumpseat-install)
;;; jumpseat-install.el ends here
